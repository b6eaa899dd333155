/*
 * output_format.h - what an output format implements, one file each, and the input it gets.
 *
 * The functions append and do not return errors: the buffer's are sticky, and render.c checks it once.
 */
#ifndef GSYM_RENDER_OUTPUT_FORMAT_H
#define GSYM_RENDER_OUTPUT_FORMAT_H

#include "gsym/render/frame_text.h"

/* A query without an answer: an address, or a line of input that is not one. */
struct unresolved {
	uint64_t addr;
	const char *input; /* the line, not escaped; NULL: @addr counts */
	size_t input_size;
};

/* Strings of a frame, rendered and escaped for the format in advance. Each has PUT_SLACK readable bytes after
 * its end, see put.h. */
struct frame_strings {
	struct span name;    /* as render_name() appends it */
	struct span linkage; /* the stored name */
	struct span path;    /* as render_path() appends it */
};

/* An answer, as a format gets it. */
struct answer_view {
	uint64_t addr; /* as the user wrote it */
	const struct gsym_answer *answer;
	const struct frame_strings *strings; /* one for each frame; NULL: render those of the frames */
	const struct span *module;           /* escaped, with PUT_SLACK; NULL: render that of the options */
	const struct render_options *options;
};

struct output_format {
	const char *suffix;    /* of files in the mount that hold answers; NULL: not offered there */
	const char *no_module; /* stands for a module that is not known */
	enum escape_style style;
	unsigned lookup_flags; /* enum gsym_lookup_flags */
	bool takes_strings; /* all strings come from view_name() and the like, so answer_view.strings works */
	bool one_line; /* every line identifies its record; other formats need an empty line in streams */
	void (*answer)(struct text_buf *out, const struct answer_view *view);
	void (*unknown)(struct text_buf *out, const struct unresolved *unknown,
			const struct render_options *options);
};

#define OUTPUT_FORMAT_DECLARE(id, name) extern const struct output_format output_##name;
OUTPUT_FORMATS(OUTPUT_FORMAT_DECLARE)
#undef OUTPUT_FORMAT_DECLARE

/* Appends the address of @unknown in hexadecimal, or its input escaped. */
static inline void format_unresolved(struct text_buf *out, const struct unresolved *unknown,
				     enum escape_style style)
{
	if (unknown->input)
		escape_bytes(out, unknown->input, unknown->input_size, style);
	else
		text_addr(out, unknown->addr);
}

/* Appends the module of the options, or what stands for none. */
static inline void format_module(struct text_buf *out, const struct render_options *options,
				 const struct output_format *format)
{
	bool known = options->module && options->module[0];
	escape_str(out, known ? options->module : format->no_module, format->style);
}

/* Strings of the view, whichever way they come. */

static inline void view_span(struct text_buf *out, const struct span *span)
{
	text_bytes(out, span->data, span->size);
}

static inline void view_name(struct text_buf *out, const struct answer_view *view, size_t frame,
			     enum escape_style style)
{
	if (view->strings)
		view_span(out, &view->strings[frame].name);
	else
		render_name(out, view->answer->frames[frame].name, view->options, style);
}

static inline void view_path(struct text_buf *out, const struct answer_view *view, size_t frame,
			     enum escape_style style)
{
	if (view->strings)
		view_span(out, &view->strings[frame].path);
	else
		render_path(out, view->answer->frames[frame].dir, view->answer->frames[frame].base, style);
}

static inline void view_module(struct text_buf *out, const struct answer_view *view,
			       const struct output_format *format)
{
	if (view->module)
		view_span(out, view->module);
	else
		format_module(out, view->options, format);
}

static inline bool view_has_file(const struct answer_view *view, size_t frame)
{
	return view->strings ? view->strings[frame].path.size > 0
			     : frame_has_file(&view->answer->frames[frame]);
}

#endif
