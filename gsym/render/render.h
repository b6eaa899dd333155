/*
 * render.h - answers as text.
 *
 * Pure: frames in, bytes out. The formats are those of gsymfs(1), and every record ends with a newline. Names
 * and paths come from untrusted files: each format escapes bytes that could forge a line or control a
 * terminal.
 */
#ifndef GSYM_RENDER_RENDER_H
#define GSYM_RENDER_RENDER_H

#include "gsym/render/output_format.h"

/* The row of the table of formats. */
const struct output_format *render_format_of(enum render_format format);

/* The format by the suffix of a file in the mount: 0, or -EINVAL when there is none. */
int render_format_by_suffix(const char *suffix, enum render_format *ret);

/* The enum gsym_lookup_flags with which answers of @format are looked up. */
unsigned render_lookup_flags(enum render_format format);

/* Appends the answer for @addr, the address as the user wrote it. 0 or -ENOMEM. */
int render_answer(struct text_buf *out, uint64_t addr, const struct gsym_answer *answer,
		  const struct render_options *options);

/* Likewise, of an answer whose strings may have been rendered before. 0 or -ENOMEM. */
int render_view(struct text_buf *out, const struct answer_view *view);

/* Appends the record of an address that no function covers. 0 or -ENOMEM. */
int render_unknown(struct text_buf *out, uint64_t addr, const struct render_options *options);

/* Appends the record of a line of input that is not an address. 0 or -ENOMEM. */
int render_malformed(struct text_buf *out, const char *input, size_t size,
		     const struct render_options *options);

/* Ends a record in a stream of records: with an empty line, in formats whose records have several lines. */
void render_end_record(struct text_buf *out, enum render_format format);

#endif
