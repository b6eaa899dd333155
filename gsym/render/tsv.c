/*
 * One line a frame: address, depth, function, offset, file, line, flags, module, linkage name. No column is
 * empty, since shells fold empty ones: what is not known is "??", or "-" for flags and module.
 */
#include "formats.h"

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

static void module(struct text_buf *out, const struct render_options *options)
{
	if (options->module && options->module[0])
		escape_str(out, options->module, ESCAPE_TSV);
	else
		text_char(out, '-');
}

static void file(struct text_buf *out, const struct gsym_frame *frame)
{
	if (frame_has_file(frame))
		render_path(out, frame, ESCAPE_TSV);
	else
		text_lit(out, "??");
}

static void tab(struct text_buf *out)
{
	text_char(out, '\t');
}

static void frame_line(struct text_buf *out, const struct gsym_answer *answer, size_t depth,
		       const struct render_options *options)
{
	const struct gsym_frame *frame = &answer->frames[depth];
	text_dec(out, depth);
	tab(out);
	size_t name = out->n;
	render_name(out, frame, options, ESCAPE_TSV);
	size_t name_size = out->n - name;
	tab(out);
	text_addr(out, frame->offset);
	tab(out);
	file(out, frame);
	tab(out);
	text_dec(out, frame->line);
	tab(out);
	flags(out, frame, answer);
	tab(out);
	module(out, options);
	tab(out);
	if (demangle_applies(frame->name, options->demangle))
		escape_str(out, frame->name, ESCAPE_TSV);
	else if (text_reserve(out, name_size))
		text_bytes(out, out->v + name, name_size);
	text_char(out, '\n');
}

void tsv_answer(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		const struct render_options *options)
{
	for (size_t i = 0; i < answer->n_frames; i++) {
		text_addr(out, addr);
		tab(out);
		frame_line(out, answer, i, options);
	}
}

void tsv_unknown(struct text_buf *out, const struct unknown *unknown, const struct render_options *options)
{
	render_place(out, unknown, ESCAPE_TSV);
	text_lit(out, "\t0\t??\t0x0\t??\t0\t-\t");
	module(out, options);
	text_lit(out, "\t??\n");
}
