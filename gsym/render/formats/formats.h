/*
 * formats.h - what the formats share, and the formats themselves: one file each.
 *
 * They append and never fail; render.c asks the buffer afterwards.
 */
#ifndef GSYM_RENDER_FORMATS_FORMATS_H
#define GSYM_RENDER_FORMATS_FORMATS_H

#include "gsym/base/escape.h"
#include "gsym/render/render.h"

/* Something that has no answer: an address, or a line of input that is none. */
struct unresolved {
	uint64_t addr;
	const char *input; /* as it came, not escaped; NULL: addr counts */
	size_t input_size;
};

/* The place of an unknown: the address in hex, or the input escaped. */
void render_place(struct text_buf *out, const struct unresolved *unknown, enum escape_style style);

/* Strings of a frame as the format shows them, made before; PUT_SLACK more bytes can be read behind each, as
 * behind a module (see put.h). */
struct frame_strings {
	struct span name;    /* as render_name() appends it */
	struct span linkage; /* the stored name, escaped */
	struct span path;    /* as render_path() appends it */
};

/* What a format shows. */
struct answer_view {
	uint64_t addr; /* as the user wrote it */
	const struct gsym_answer *answer;
	const struct frame_strings *strings; /* one for each frame; NULL: strings are those of the frames */
	const struct span *module;           /* escaped; NULL: that of the options */
	const struct render_options *options;
};

/* Appends what render_answer() does of an answer whose frames need no strings. 0 or -ENOMEM. */
int render_view(struct text_buf *out, const struct answer_view *view);

/* Whether render_view() takes a format's strings ready made. */
bool render_takes_strings(enum render_format format);
enum escape_style render_style(enum render_format format);

/* A name, demangled as the options say, escaped. */
void render_name(struct text_buf *out, const char *name, const struct render_options *options,
		 enum escape_style style);

/* A file, directory and name joined; "" when neither is known. */
void render_path(struct text_buf *out, const char *dir, const char *base, enum escape_style style);

/* The module, or @nothing. */
void render_module(struct text_buf *out, const struct render_options *options, const char *nothing);

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

static inline void view_module(struct text_buf *out, const struct answer_view *view, const char *nothing)
{
	if (view->module)
		view_span(out, view->module);
	else
		render_module(out, view->options, nothing);
}

static inline bool frame_has_file(const struct gsym_frame *frame)
{
	return frame->dir[0] || frame->base[0];
}

static inline bool view_has_file(const struct answer_view *view, size_t frame)
{
	return view->strings ? view->strings[frame].path.size > 0
			     : frame_has_file(&view->answer->frames[frame]);
}

/* What joins @dir to a name: a backslash when the path was written on Windows, nothing after a root. */
static inline const char *path_separator(const char *dir)
{
	size_t size = strlen(dir);
	if (size == 0 || dir[size - 1] == '/' || dir[size - 1] == '\\')
		return "";
	return memchr(dir, '\\', size) && !memchr(dir, '/', size) ? "\\" : "/";
}

void text_answer(struct text_buf *out, const struct answer_view *view);
void text_unknown(struct text_buf *out, const struct unresolved *unknown,
		  const struct render_options *options);

void tsv_answer(struct text_buf *out, const struct answer_view *view);
void tsv_unknown(struct text_buf *out, const struct unresolved *unknown,
		 const struct render_options *options);

void json_answer(struct text_buf *out, const struct answer_view *view);
void json_unknown(struct text_buf *out, const struct unresolved *unknown,
		  const struct render_options *options);

void atos_answer(struct text_buf *out, const struct answer_view *view);
void atos_unknown(struct text_buf *out, const struct unresolved *unknown,
		  const struct render_options *options);

void gsymutil_answer(struct text_buf *out, const struct answer_view *view);
void gsymutil_unknown(struct text_buf *out, const struct unresolved *unknown,
		      const struct render_options *options);

#endif
