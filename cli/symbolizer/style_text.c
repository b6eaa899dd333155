/* The styles of addr2line, and of LLVM's programs with lines of the source, which are numbered and marked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbolizer/answer_style.h"
#include "gsym/base/escape.h"
#include "gsym/render/frame_text.h"

bool answer_file_append(struct text_buf *out, const struct symbol_answer *answer, const char *dir,
			const char *base, uint32_t comp_size, enum escape_style style)
{
	enum path_form form = answer->options->paths;
	bool is_unknown = !dir[0] && (!base[0] || strcmp(base, "<invalid>") == 0);
	if (is_unknown)
		return false; /* LLVM's compilers call a file so that they do not know */
	if (form == PATHS_BASE && base[0])
		escape_str(out, base, style);
	else if (form == PATHS_RELATIVE)
		render_path(out, dir + strnlen(dir, comp_size), base, style);
	else
		render_path(out, dir, base, style);
	return true;
}

void answer_module_append(struct text_buf *out, const struct symbol_query *query, enum escape_style style)
{
	size_t start = out->n;
	escape_bytes(out, query->module.text, query->module.size, style);
	for (size_t i = start; query->by_id && i < out->n; i++)
		if (out->v[i] >= 'a' && out->v[i] <= 'f')
			out->v[i] = (char)(out->v[i] - 'a' + 'A');
}

static void print_file(struct text_buf *out, const struct symbol_answer *answer,
		       const struct shown_frame *frame)
{
	if (!answer_file_append(out, answer, frame->dir, frame->base, frame->detail.comp_size, ESCAPE_TEXT))
		text_lit(out, "??");
}

/* ---- addr2line ---- */

static void print_binutils_place(struct text_buf *out, const struct symbol_answer *answer,
				 const struct shown_frame *frame)
{
	print_file(out, answer, frame);
	text_char(out, ':');
	if (frame->line)
		text_dec(out, frame->line);
	else
		text_char(out, '?');
	text_char(out, '\n');
}

static void print_binutils_frame(struct text_buf *out, const struct symbol_answer *answer,
				 const struct shown_frame *frame, bool is_first)
{
	bool pretty = answer->options->pretty;
	if (pretty && !is_first)
		text_lit(out, " (inlined by) ");
	if (answer->options->names != FUNCTION_NAMES_NONE) {
		symbol_name_append(out, answer, frame->name, ESCAPE_TEXT);
		text_str(out, pretty ? " at " : "\n");
	}
	print_binutils_place(out, answer, frame);
}

void answer_print_binutils(struct text_buf *out, const struct symbol_answer *answer)
{
	bool pretty = answer->options->pretty;
	if (answer->options->addresses) {
		text_lit(out, "0x");
		text_hex(out, answer->addr, answer->module && answer->module->is_32_bit ? 8 : 16);
		text_str(out, pretty ? ": " : "\n");
	}
	for (size_t i = 0; i < answer->frames.n; i++)
		print_binutils_frame(out, answer, &answer->frames.v[i], i == 0);
	if (answer->frames.n)
		return;
	if (answer->options->names != FUNCTION_NAMES_NONE)
		text_str(out, pretty ? "?? " : "??\n");
	text_lit(out, "??:0\n");
}

/* ---- Lines of the source ---- */

/* How many digits the numbers before @last have: the width of the column. */
static unsigned width_of(uint64_t last)
{
	unsigned width = 0;
	for (uint64_t power = 1; power < last; power *= 10)
		width++;
	return width;
}

/* Lines of a source that are shown. */
struct source_lines {
	uint64_t first, last, marked;
	enum escape_style style;
};

static void append_source_line(struct text_buf *out, const struct source_lines *lines, uint64_t number,
			       const char *text, size_t size)
{
	char head[32];
	snprintf(head, sizeof(head), "%*llu %s: ", (int)width_of(lines->last), (unsigned long long)number,
		 number == lines->marked ? ">" : " ");
	text_str(out, head);
	size -= size && text[size - 1] == '\n';
	size -= size && text[size - 1] == '\r';
	for (const char *tab; lines->style == ESCAPE_TEXT && (tab = memchr(text, '\t', size));) {
		size_t n = (size_t)(tab - text);
		escape_bytes(out, text, n, ESCAPE_TEXT);
		text_char(out, '\t');
		text += n + 1;
		size -= n + 1;
	}
	escape_bytes(out, text, size, lines->style);
	text_str(out, lines->style == ESCAPE_JSON ? "\\n" : "\n");
}

static void append_file_lines(struct text_buf *out, const struct source_lines *lines, FILE *source)
{
	char *text = NULL;
	size_t cap = 0;
	ssize_t size;
	for (uint64_t at = 1; at <= lines->last && (size = getline(&text, &cap, source)) >= 0; at++)
		if (at >= lines->first)
			append_source_line(out, lines, at, text, (size_t)size);
	free(text);
}

/* @text begins with the first line. */
static void append_text_lines(struct text_buf *out, const struct source_lines *lines, const char *text,
			      size_t size)
{
	for (uint64_t at = lines->first; size; at++) {
		const char *newline = memchr(text, '\n', size);
		size_t n = newline ? (size_t)(newline + 1 - text) : size;
		append_source_line(out, lines, at, text, n);
		text += n;
		size -= n;
	}
}

void answer_source_append(struct text_buf *out, const struct symbol_answer *answer,
			  const struct shown_frame *frame, enum escape_style style)
{
	struct text_buf path = {0};
	uint64_t n = answer->options->context, first = frame->line > n / 2 ? frame->line - n / 2 : 1;
	const struct source_lines lines = {first, first + n - 1, frame->line, style};
	if (!n || (!frame->dir[0] && !frame->base[0]))
		return;
	if (frame->detail.source_size) {
		append_text_lines(out, &lines, frame->detail.source, frame->detail.source_size);
		return;
	}
	text_str(&path, frame->dir);
	text_char(&path, '/');
	text_str(&path, frame->base);
	text_char(&path, 0);
	FILE *source = path.failed ? NULL : fopen(path.v, "re");
	if (source) {
		append_file_lines(out, &lines, source);
		fclose(source);
	}
	out->failed |= path.failed;
	text_deinit(&path);
}

/* ---- LLVM ---- */

static const struct shown_frame unknown = {.name = NULL, .dir = "", .base = ""};

static void print_place(struct text_buf *out, const struct symbol_answer *answer,
			const struct shown_frame *frame)
{
	print_file(out, answer, frame);
	text_char(out, ':');
	text_dec(out, frame->line);
	if (answer->options->style == ANSWER_LLVM) {
		text_char(out, ':');
		text_dec(out, frame->detail.column);
	} else if (frame->detail.discriminator) {
		text_lit(out, " (discriminator ");
		text_dec(out, frame->detail.discriminator);
		text_char(out, ')');
	}
	text_char(out, '\n');
}

static void print_properties(struct text_buf *out, const struct symbol_answer *answer,
			     const struct shown_frame *frame)
{
	text_lit(out, "  Filename: ");
	print_file(out, answer, frame);
	if (frame->detail.start_line) {
		text_lit(out, "\n  Function start filename: ");
		answer_file_append(out, answer, frame->detail.start_dir, frame->detail.start_base,
				   frame->detail.start_comp_size, ESCAPE_TEXT);
		text_lit(out, "\n  Function start line: ");
		text_dec(out, frame->detail.start_line);
	}
	if (frame->has_start && answer->options->style == ANSWER_LLVM) {
		text_lit(out, "\n  Function start address: ");
		text_addr(out, frame->start);
	}
	text_lit(out, "\n  Line: ");
	text_dec(out, frame->line);
	text_lit(out, "\n  Column: ");
	text_dec(out, frame->detail.column);
	text_char(out, '\n');
	if (frame->detail.discriminator) {
		text_lit(out, "  Discriminator: ");
		text_dec(out, frame->detail.discriminator);
		text_char(out, '\n');
	}
}

static void print_frame(struct text_buf *out, const struct symbol_answer *answer,
			const struct shown_frame *frame, bool is_inlined_by)
{
	const struct symbolizer_options *options = answer->options;
	if (options->names != FUNCTION_NAMES_NONE) {
		if (options->pretty && is_inlined_by)
			text_lit(out, " (inlined by) ");
		if (frame->name)
			symbol_name_append(out, answer, frame->name, ESCAPE_TEXT);
		else
			text_lit(out, "??");
		text_str(out, options->pretty ? " at " : "\n");
	}
	if (options->verbose)
		print_properties(out, answer, frame);
	else
		print_place(out, answer, frame);
	answer_source_append(out, answer, frame, ESCAPE_TEXT);
}

static void print_data(struct text_buf *out, const struct symbol_answer *answer)
{
	const struct object_symbol *data = answer->data;
	if (data)
		symbol_data_append(out, answer, ESCAPE_TEXT);
	else
		text_lit(out, "??");
	text_char(out, '\n');
	text_dec(out, data ? data->addr : 0);
	text_char(out, ' ');
	text_dec(out, data ? data->size : 0);
	text_char(out, '\n');
	if (answer->details.n) {
		const struct frame_detail *detail = &answer->details.v[0].frame;
		render_path(out, detail->start_dir, detail->start_base, ESCAPE_TEXT);
		text_char(out, ':');
		text_dec(out, detail->start_line);
		text_char(out, '\n');
	} else if (data && data->is_local && data->file) {
		escape_str(out, data->file, ESCAPE_TEXT);
		text_lit(out, ":0\n");
	} else {
		text_lit(out, "??:?\n");
	}
}

static void print_frames(struct text_buf *out, const struct symbol_answer *answer)
{
	bool is_stack = answer->query->kind != QUERY_SYMBOL;
	for (size_t i = 0; i < answer->frames.n; i++)
		print_frame(out, answer, &answer->frames.v[i], is_stack && i > 0);
	if (!answer->frames.n)
		print_frame(out, answer, &unknown, false);
}

void answer_print_text(struct text_buf *out, const struct symbol_answer *answer)
{
	enum query_kind kind = answer->query->kind;
	if (answer->options->addresses && kind != QUERY_SYMBOL && kind != QUERY_INVALID) {
		text_addr(out, answer->addr);
		text_str(out, answer->options->pretty ? ": " : "\n");
	}
	if (kind == QUERY_DATA)
		print_data(out, answer);
	else if (kind == QUERY_FRAME)
		text_lit(out, "??\n");
	else
		print_frames(out, answer);
	if (answer->options->style == ANSWER_LLVM)
		text_char(out, '\n');
}
