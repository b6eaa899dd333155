#include "cli/inspect/dump.h"

#include "gsym/base/escape.h"

enum { MERGED_INDENT = 4 };

/* What the parts of one record share. */
struct dump {
	struct text_buf *out;
	const struct gsym_reader *reader;
	const struct gsym_func *func;
	unsigned indent; /* of merged functions */
};

static void name(const struct dump *d, uint64_t strp)
{
	const char *text = gsym_reader_string(d->reader, strp);
	escape_str(d->out, text ? text : "", ESCAPE_TEXT);
}

static void range(const struct dump *d, uint64_t start, uint64_t size)
{
	text_char(d->out, '[');
	dump_hex(d->out, start, 16);
	text_lit(d->out, " - ");
	dump_hex(d->out, start + size, 16);
	text_lit(d->out, ") ");
}

static void rows(const struct dump *d)
{
	if (d->func->n_rows == 0)
		return;
	text_fill(d->out, ' ', d->indent);
	text_lit(d->out, "LineTable:\n");
	for (size_t i = 0; i < d->func->n_rows; i++) {
		const struct gsym_row *row = &d->func->rows[i];
		text_fill(d->out, ' ', d->indent + 2);
		dump_hex(d->out, d->func->start + row->off, 16);
		text_char(d->out, ' ');
		if (row->file)
			dump_path(d->out, d->reader, row->file);
		text_char(d->out, ':');
		text_dec(d->out, row->line);
		text_char(d->out, '\n');
	}
}

static void inline_node(const struct dump *d, const struct gsym_inline *node)
{
	text_fill(d->out, ' ', d->indent + 2 * (size_t)node->depth);
	for (uint32_t i = 0; i < node->n_ranges; i++) {
		const struct gsym_range *r = &d->func->ranges[node->first_range + i];
		range(d, d->func->start + r->off, r->size);
	}
	name(d, node->name);
	if (node->call_file) {
		text_lit(d->out, " called from ");
		dump_path(d->out, d->reader, node->call_file);
		text_char(d->out, ':');
		text_dec(d->out, node->call_line);
	}
	text_char(d->out, '\n');
}

/* The title is left out for merged functions, as llvm does. */
static void inlines(const struct dump *d)
{
	if (d->func->n_inlines == 0)
		return;
	if (d->indent == 0)
		text_lit(d->out, "InlineInfo:\n");
	text_fill(d->out, ' ', d->indent);
	range(d, d->func->start, d->func->size);
	name(d, d->func->name);
	text_char(d->out, '\n');
	for (size_t i = 0; i < d->func->n_inlines; i++)
		inline_node(d, &d->func->inlines[i]);
}

static void callsite_flags(const struct dump *d, uint8_t flags)
{
	text_lit(d->out, " Flags[");
	if (flags & GSYM_CALLSITE_INTERNAL)
		text_lit(d->out, "InternalCall");
	if ((flags & GSYM_CALLSITE_INTERNAL) && (flags & GSYM_CALLSITE_EXTERNAL))
		text_lit(d->out, " | ");
	if (flags & GSYM_CALLSITE_EXTERNAL)
		text_lit(d->out, "ExternalCall");
	if (!(flags & (GSYM_CALLSITE_INTERNAL | GSYM_CALLSITE_EXTERNAL)))
		text_lit(d->out, "None");
	text_char(d->out, ']');
}

static void callsites(const struct dump *d)
{
	if (d->func->n_callsites == 0)
		return;
	text_fill(d->out, ' ', d->indent);
	text_lit(d->out, "CallSites (by relative return offset):\n");
	for (size_t i = 0; i < d->func->n_callsites; i++) {
		const struct gsym_callsite *site = &d->func->callsites[i];
		text_fill(d->out, ' ', d->indent + 2);
		dump_hex(d->out, site->return_off, 4);
		callsite_flags(d, site->flags);
		for (uint32_t k = 0; k < site->n_patterns; k++) {
			text_str(d->out, k ? ";" : " MatchRegex[");
			name(d, d->func->patterns[site->first_pattern + k]);
		}
		text_str(d->out, site->n_patterns ? "]\n" : "\n");
	}
}

static void body(const struct dump *d)
{
	range(d, d->func->start, d->func->size);
	text_char(d->out, '"');
	name(d, d->func->name);
	text_lit(d->out, "\"\n");
	rows(d);
	inlines(d);
	callsites(d);
}

void dump_function(struct text_buf *out, const struct gsym_reader *reader, const struct gsym_func *func,
		   uint64_t off)
{
	struct dump d = {.out = out, .reader = reader, .func = func};
	text_lit(out, "FunctionInfo @ ");
	dump_hex(out, off, dump_off_digits(reader));
	text_lit(out, ": ");
	body(&d);
	for (size_t i = 0; i < func->n_merged; i++) {
		text_lit(out, "++ Merged FunctionInfos[");
		text_dec(out, i);
		text_lit(out, "]:\n");
		d = (struct dump){out, reader, &func->merged[i], MERGED_INDENT};
		text_fill(out, ' ', MERGED_INDENT);
		body(&d);
	}
}
