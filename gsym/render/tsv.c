/*
 * One line a frame: address, depth, function, offset, file, line, flags, module, linkage name. No column is
 * empty, since shells fold empty ones: what is not known is "??", or "-" for flags and module.
 */
#include "formats.h"

static const char NO_MODULE[] = "-";

static void flags(struct text_buf *out, const struct gsym_frame *frame, const struct gsym_answer *answer)
{
	size_t start = out->n;
	if (frame->inlined)
		text_char(out, 'i');
	if (!answer->has_rows)
		text_char(out, 's');
	if (answer->n_merged > 1 && !frame->inlined) {
		text_char(out, 'm');
		text_dec(out, answer->n_merged);
	}
	if (frame->approximate)
		text_char(out, '~');
	if (out->n == start)
		text_char(out, '-');
}

static void tab(struct text_buf *out)
{
	text_char(out, '\t');
}

static void linkage(struct text_buf *out, const struct shown *shown, size_t i, size_t name, size_t name_size)
{
	const char *stored = shown->answer->frames[i].name;
	if (shown->ready)
		shown_span(out, &shown->ready[i].linkage);
	else if (demangle_applies(stored, shown->options->demangle))
		escape_str(out, stored, ESCAPE_TSV);
	else if (text_reserve(out, name_size))
		text_bytes(out, out->v + name, name_size);
}

static void frame_line(struct text_buf *out, const struct shown *shown, size_t i)
{
	const struct gsym_frame *frame = &shown->answer->frames[i];
	text_dec(out, i);
	tab(out);
	size_t name = out->n;
	shown_name(out, shown, i, ESCAPE_TSV);
	size_t name_size = out->n - name;
	tab(out);
	text_addr(out, frame->offset);
	tab(out);
	if (shown_has_file(shown, i))
		shown_path(out, shown, i, ESCAPE_TSV);
	else
		text_lit(out, "??");
	tab(out);
	text_dec(out, frame->line);
	tab(out);
	flags(out, frame, shown->answer);
	tab(out);
	shown_module(out, shown, NO_MODULE);
	tab(out);
	linkage(out, shown, i, name, name_size);
	text_char(out, '\n');
}

void tsv_answer(struct text_buf *out, const struct shown *shown)
{
	for (size_t i = 0; i < shown->answer->n_frames; i++) {
		text_addr(out, shown->addr);
		tab(out);
		frame_line(out, shown, i);
	}
}

void tsv_unknown(struct text_buf *out, const struct unknown *unknown, const struct render_options *options)
{
	render_place(out, unknown, ESCAPE_TSV);
	text_lit(out, "\t0\t??\t0x0\t??\t0\t-\t");
	render_module(out, options, NO_MODULE);
	text_lit(out, "\t??\n");
}
