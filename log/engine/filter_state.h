/*
 * filter_state.h - the state of a filter, and what its parts do with it. Internal.
 *
 * line_frames.c takes lines one at a time. Reports that say only at their end what their frames need are held
 * until then, and replayed: one file each in reports/, one row of held_reports[] in filter.c. At most one is
 * held at a time.
 */
#ifndef LOG_ENGINE_FILTER_STATE_H
#define LOG_ENGINE_FILTER_STATE_H

#include "log/engine/pending_stack.h"
#include "log/maps/memory_map.h"

struct filter;

/* ---- Reports that are held ---- */

struct held_report;

/* The report of one kind. */
struct held {
	const struct held_report *kind;
	void *own;            /* what the kind keeps, zero at first */
	struct text_buf text; /* what is held */
	size_t done;          /* bytes replayed */
	bool is_open;         /* being held */
	bool is_whole;        /* complete: to be replayed, or being replayed */
};

/* Functions that a kind does not need are NULL. */
struct held_report {
	size_t own_size;
	/* Notes the line that was written last, without its ending; empty if it was no whole line. */
	void (*follow)(struct held *held, struct text_scan line);
	/* Kinds of whole lines. */
	bool (*ends)(const struct filter *f, const struct held *held, struct text_scan line);
	/* Learns from the line. 1 if it begins the report or belongs to it, 0, -ENOMEM. */
	int (*takes)(struct filter *f, struct held *held, struct text_scan line);
	/* Kinds of bytes, whose lines may be long. True if a report begins with what there is of a line. */
	bool (*begins)(struct held *held, struct text_scan line);
	/* Returns the number of bytes that belong to the report; sets @is_whole if they complete it. */
	size_t (*hold)(struct held *held, const char *bytes, size_t size);
	/* Writes the report: 0, -EAGAIN, -ENOMEM: then the same call goes on. */
	int (*replay)(struct filter *f, struct held *held, struct text_buf *out);
	size_t (*memory)(const void *own);
	void (*deinit)(void *own);
};

extern const struct held_report held_apple, held_heap, held_json;

/* Kinds of reports that are held; of those that take lines, the first that takes one has it. */
enum { HELD_HEAP, HELD_APPLE, HELD_JSON, HELD_KINDS };

/* ---- The filter ---- */

struct filter {
	struct filter_images images;
	struct filter_options options;
	struct log_context context;
	struct pending_stack stack;
	struct held held[HELD_KINDS];
	struct memory_map mapped, events, given, fixed;
	struct text_buf line; /* the incomplete next line */
	bool passing;         /* inside a line that is too long */
};

/* ---- Lines ---- */

/* The @size bytes of @line without its line ending. */
struct text_scan line_content(const char *line, size_t size);

/* Writes text without frames, as the output has it. */
void filter_text(struct filter *f, const char *bytes, size_t size, struct text_buf *out);

/* Writes the pending stack. 0, -EAGAIN, -ENOMEM: then the same call goes on. */
int filter_flush(struct filter *f, struct text_buf *out);

/* Processes one line. On -EAGAIN and -ENOMEM it is not consumed. */
int filter_take_line(struct filter *f, const char *line, size_t size, struct text_buf *out);

/* Takes the lines that are left, by @take, which replays one. 0, -EAGAIN, -ENOMEM. */
int held_replay_lines(struct filter *f, struct held *held,
		      int (*take)(struct filter *f, const char *line, size_t size, struct text_buf *out),
		      struct text_buf *out);

#endif
