/*
 * filter_state.h - the state of a filter, and what its parts do with it: line_frames.c, and reports that are
 * held (held_report.h). Internal.
 */
#ifndef LOG_ENGINE_FILTER_STATE_H
#define LOG_ENGINE_FILTER_STATE_H

#include "log/engine/held_report.h"
#include "log/engine/pending_stack.h"
#include "log/maps/memory_map.h"

/* Kinds of reports that are held; of those that take lines, the first that takes one has it. */
enum { HELD_HEAP, HELD_APPLE, HELD_JSON, HELD_KINDS };

struct filter {
	struct filter_images images;
	struct filter_options options;
	struct log_context context;
	struct pending_stack stack;
	struct held held[HELD_KINDS];
	struct memory_map mapped, events, given;
	struct text_buf line; /* the incomplete next line */
	bool passing;         /* inside a line that is too long */
};

/* ---- Lines ---- */

/* The @size bytes of @line without its line ending. */
struct text_scan line_content(const char *line, size_t size);

/* Writes the pending stack. 0, -EAGAIN, -ENOMEM: then the same call goes on. */
int filter_flush(struct filter *f, struct text_buf *out);

/* Processes one line. On -EAGAIN and -ENOMEM it is not consumed. */
int filter_take_line(struct filter *f, const char *line, size_t size, struct text_buf *out);

#endif
