#include "cli/symbolizer/answer_style.h"
#include "gsym/base/escape.h"

static const struct shown_frame unknown = {.name = NULL, .dir = "", .base = ""};

static void print_file(struct text_buf *out, const struct symbol_answer *answer,
		       const struct shown_frame *frame)
{
	if (!answer_file_append(out, answer, frame, ESCAPE_TEXT))
		text_lit(out, "??");
}

static void print_place(struct text_buf *out, const struct symbol_answer *answer,
			const struct shown_frame *frame)
{
	print_file(out, answer, frame);
	text_char(out, ':');
	text_dec(out, frame->line);
	text_str(out, answer->options->style == ANSWER_LLVM ? ":0\n" : "\n");
}

static void print_properties(struct text_buf *out, const struct symbol_answer *answer,
			     const struct shown_frame *frame)
{
	text_lit(out, "  Filename: ");
	print_file(out, answer, frame);
	if (frame->name) {
		text_lit(out, "\n  Function start address: ");
		text_addr(out, frame->start);
	}
	text_lit(out, "\n  Line: ");
	text_dec(out, frame->line);
	text_lit(out, "\n  Column: 0\n");
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
	source_context_append(out, answer, frame);
}

static void print_data(struct text_buf *out, const struct symbol_answer *answer)
{
	const struct object_symbol *data = &answer->data;
	if (data->name)
		symbol_data_append(out, answer, ESCAPE_TEXT);
	else
		text_lit(out, "??");
	text_char(out, '\n');
	text_dec(out, data->name ? data->addr : 0);
	text_char(out, ' ');
	text_dec(out, data->name ? data->size : 0);
	text_lit(out, "\n??:?\n");
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
