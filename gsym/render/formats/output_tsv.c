/*
 * One line for each frame: address, depth, function, offset, file, line, flags, module, linkage name. No
 * column is empty, since shells merge adjacent separators: unknown values are "??", or "-" for flags and
 * module.
 */
#include "gsym/render/output_format.h"
#include "gsym/base/put.h"

static void flags(struct text_buf *out, const struct gsym_frame *frame, const struct gsym_answer *found)
{
	size_t start = out->n;
	if (frame->inlined)
		text_char(out, 'i');
	if (!found->has_rows)
		text_char(out, 's');
	if (found->n_merged > 1 && !frame->inlined) {
		text_char(out, 'm');
		text_dec(out, found->n_merged);
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

static void linkage(struct text_buf *out, const struct answer_view *view, size_t i, size_t name,
		    size_t name_size)
{
	const char *stored = view->answer->frames[i].name;
	if (demangle_applies(stored, view->options->demangle))
		escape_str(out, stored, ESCAPE_TSV);
	else if (text_reserve(out, name_size))
		text_bytes(out, out->v + name, name_size);
}

static void frame_line(struct text_buf *out, const struct answer_view *view, size_t i)
{
	const struct gsym_frame *frame = &view->answer->frames[i];
	text_dec(out, i);
	tab(out);
	size_t name = out->n;
	view_name(out, view, i, ESCAPE_TSV);
	size_t name_size = out->n - name;
	tab(out);
	text_addr(out, frame->offset);
	tab(out);
	if (view_has_file(view, i))
		view_path(out, view, i, ESCAPE_TSV);
	else
		text_lit(out, "??");
	tab(out);
	text_dec(out, frame->line);
	tab(out);
	flags(out, frame, view->answer);
	tab(out);
	view_module(out, view, &output_tsv);
	tab(out);
	linkage(out, view, i, name, name_size);
	text_char(out, '\n');
}

/* ---- Of strings rendered in advance ---- */

enum { NUMBERS_MAX = 6 * PUT_NUMBER_MAX }; /* address, depth, offset, line, merged; and what stands between */

static char *put_flags(char *at, const struct gsym_frame *frame, const struct gsym_answer *found)
{
	char *start = at;
	if (frame->inlined)
		*at++ = 'i';
	if (!found->has_rows)
		*at++ = 's';
	if (found->n_merged > 1 && !frame->inlined)
		at = put_dec(put_char(at, 'm'), found->n_merged);
	if (frame->approximate)
		*at++ = '~';
	return at > start ? at : put_char(at, '-');
}

static char *put_path(char *at, const struct span *path)
{
	if (path->size)
		return put_span(at, path);
	at[0] = at[1] = '?';
	return at + 2;
}

/* The line of frame @i, after its address. */
static char *put_frame(char *at, const struct answer_view *view, size_t i)
{
	const struct gsym_frame *frame = &view->answer->frames[i];
	const struct frame_strings *ready = &view->strings[i];
	at = put_char(put_dec(put_char(at, '\t'), i), '\t');
	at = put_char(put_span(at, &ready->name), '\t');
	at = put_char(put_addr(at, frame->offset), '\t');
	at = put_char(put_path(at, &ready->path), '\t');
	at = put_char(put_dec(at, frame->line), '\t');
	at = put_char(put_flags(at, frame, view->answer), '\t');
	at = put_char(put_span(at, view->module), '\t');
	return put_char(put_span(at, &ready->linkage), '\n');
}

static void answer_ready(struct text_buf *out, const struct answer_view *view)
{
	char addr[PUT_SLACK] = "";
	const struct span given = {(const uint8_t *)addr, (size_t)(put_addr(addr, view->addr) - addr)};
	for (size_t i = 0; i < view->answer->n_frames; i++) {
		const struct frame_strings *ready = &view->strings[i];
		size_t strings =
			ready->name.size + ready->linkage.size + ready->path.size + view->module->size;
		if (!text_reserve(out, strings + NUMBERS_MAX + PUT_SLACK))
			return;
		char *at = put_span(out->v + out->n, &given);
		out->n = (size_t)(put_frame(at, view, i) - out->v);
	}
}

/* ---- All ---- */

static void answer(struct text_buf *out, const struct answer_view *view)
{
	if (view->strings) {
		answer_ready(out, view);
		return;
	}
	for (size_t i = 0; i < view->answer->n_frames; i++) {
		text_addr(out, view->addr);
		tab(out);
		frame_line(out, view, i);
	}
}

static void unknown(struct text_buf *out, const struct unresolved *query,
		    const struct render_options *options)
{
	format_unresolved(out, query, ESCAPE_TSV);
	text_lit(out, "\t0\t??\t0x0\t??\t0\t-\t");
	format_module(out, options, &output_tsv);
	text_lit(out, "\t??\n");
}

const struct output_format output_tsv = {
	.suffix = ".tsv",
	.no_module = "-",
	.style = ESCAPE_TSV,
	.takes_strings = true,
	.one_line = true,
	.answer = answer,
	.unknown = unknown,
};
