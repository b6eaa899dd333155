/* log_line.h - lines with their frames replaced by answers, in the style of each log. */
#ifndef LOG_ENGINE_LOG_LINE_H
#define LOG_ENGINE_LOG_LINE_H

#include "log/engine/stack_buffer.h"

/* A line and its resolved frames. */
struct resolved_line {
	const char *text; /* with its newline, if it has one */
	size_t size;
	const struct buffered_frame *frames;   /* ascending by position */
	const struct resolver_frame *resolved; /* as many */
	const struct filter_image *images;     /* as many */
	size_t n;
};

/*
 * Appends the line. A frame without an answer is copied unchanged. Inlined calls get lines of their own
 * before the function's, in formats with a line for each frame.
 *
 * @out: appended to; its errors are sticky
 * @line: the line, with its frames after stack_resolver_run()
 * @resolver: the resolver of these frames, not run again since
 * @answer: scratch of the caller, reused between calls
 * @options: of the filter
 */
void log_line_write(struct text_buf *out, const struct resolved_line *line,
		    const struct stack_resolver *resolver, struct gsym_answer *answer,
		    const struct filter_options *options);

#endif
