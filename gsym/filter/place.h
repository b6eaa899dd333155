/*
 * place.h - answers put into lines, as each kind of log has them.
 */
#ifndef GSYM_FILTER_PLACE_H
#define GSYM_FILTER_PLACE_H

#include "gsym/filter/log_format.h"

/* A line with what is known of its frames. */
struct place_line {
	const char *text; /* with its newline, if it has one */
	size_t size;
	const struct frame *frames;        /* ascending by position */
	const struct walk_frame *resolved; /* as many */
	const struct filter_image *images; /* as many */
	size_t n;
};

/*
 * Appends the line. A frame without an answer stays as it is. Inlined calls take lines of their own before
 * the function's, where the format has a line for each frame.
 */
void place_write(struct text_buf *out, const struct place_line *line, const struct walk *walk,
		 struct gsym_answer *answer, const struct filter_options *options);

#endif
