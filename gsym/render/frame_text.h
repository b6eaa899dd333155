/*
 * frame_text.h - the strings of a frame as text: demangled, joined, escaped. What output formats share.
 */
#ifndef GSYM_RENDER_FRAME_TEXT_H
#define GSYM_RENDER_FRAME_TEXT_H

#include "gsym/base/escape.h"
#include "gsym/render/render_options.h"

/* Appends a function's name, demangled as the options say, escaped. */
void render_name(struct text_buf *out, const char *name, const struct render_options *options,
		 enum escape_style style);

/* Appends a file's path, directory and base name joined; "" when neither is known. */
void render_path(struct text_buf *out, const char *dir, const char *base, enum escape_style style);

/* Appends " [merged N]" if @n functions, more than one, share the code. */
void render_merged(struct text_buf *out, uint32_t n);

static inline bool frame_has_file(const struct gsym_frame *frame)
{
	return frame->dir[0] || frame->base[0];
}

#endif
