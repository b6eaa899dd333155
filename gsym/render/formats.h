/*
 * formats.h - what the formats share, and the formats themselves: one file each.
 *
 * They append and never fail; render.c asks the buffer afterwards.
 */
#ifndef GSYM_RENDER_FORMATS_H
#define GSYM_RENDER_FORMATS_H

#include "escape.h"
#include "render.h"

/* Something that has no answer: an address, or a line of input that is none. */
struct unknown {
	uint64_t addr;
	const char *input; /* as it came, not escaped; NULL: addr counts */
	size_t input_size;
};

/* The place of an unknown: the address in hex, or the input escaped. */
void render_place(struct text_buf *out, const struct unknown *unknown, enum escape_style style);

/* A frame's name, demangled as the options say, escaped. */
void render_name(struct text_buf *out, const struct gsym_frame *frame, const struct render_options *options,
		 enum escape_style style);

/* A frame's file, directory and name joined; "" when neither is known. */
void render_path(struct text_buf *out, const struct gsym_frame *frame, enum escape_style style);

static inline bool frame_has_file(const struct gsym_frame *frame)
{
	return frame->dir[0] || frame->base[0];
}

/* What joins @dir to a name: a backslash when the path was written on Windows, nothing after a root. */
static inline const char *path_separator(const char *dir)
{
	size_t size = strlen(dir);
	if (size == 0 || dir[size - 1] == '/' || dir[size - 1] == '\\')
		return "";
	return memchr(dir, '\\', size) && !memchr(dir, '/', size) ? "\\" : "/";
}

void text_answer(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		 const struct render_options *options);
void text_unknown(struct text_buf *out, const struct unknown *unknown, const struct render_options *options);

void tsv_answer(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		const struct render_options *options);
void tsv_unknown(struct text_buf *out, const struct unknown *unknown, const struct render_options *options);

void json_answer(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		 const struct render_options *options);
void json_unknown(struct text_buf *out, const struct unknown *unknown, const struct render_options *options);

void atos_answer(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		 const struct render_options *options);
void atos_unknown(struct text_buf *out, const struct unknown *unknown, const struct render_options *options);

void gsymutil_answer(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		     const struct render_options *options);
void gsymutil_unknown(struct text_buf *out, const struct unknown *unknown,
		      const struct render_options *options);

#endif
