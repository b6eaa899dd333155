/*
 * filter_state.h - the state of a filter, and what its parts do with it: line_frames.c, and reports that are
 * held until they say what their frames need: reports/. Internal.
 */
#ifndef LOG_ENGINE_FILTER_STATE_H
#define LOG_ENGINE_FILTER_STATE_H

#include "log/formats/format_ips.h"
#include "log/line/log_format.h"
#include "log/maps/memory_map.h"
#include "log/engine/pending_stack.h"

/* An Apple report, buffered from its first frame until its images are known. */
struct report {
	struct text_buf text;
	size_t done;       /* bytes replayed */
	bool after_thread; /* the previous line announces frames */
	bool held;         /* being buffered */
	bool saw_images;   /* since the first frame, or before it */
	bool replayed;     /* being replayed */
	/* The list of addresses that is being replayed. */
	struct text_buf frame; /* the line made of the next one */
	size_t n_frames;       /* of it that were replayed */
	bool had_addresses;    /* others are copied unchanged */
};

/* A report in JSON, buffered from its opening to its closing brace, or from the line after the former. */
struct json_report {
	struct text_buf text;
	struct ips_end end;
	struct ips ips;
	size_t done, next; /* bytes replayed; the next frame */
	bool announced;    /* the previous line is its header */
	bool opened;       /* the previous line is nothing but a brace */
	bool held;
	bool whole; /* complete, or at the limit: being replayed */
	bool parsed;
	bool of_minidump; /* not of Apple's systems */
};

/* A heap file, buffered until its list of mappings ends. */
struct heap_file {
	struct text_buf text;
	size_t done; /* bytes replayed */
	bool held;
	bool saw_map;  /* the last line is of the list */
	bool replayed; /* being replayed */
};

struct filter {
	struct filter_images images;
	struct filter_options options;
	struct log_context context;
	struct pending_stack stack;
	struct report report;
	struct json_report json;
	struct heap_file heap;
	struct memory_map mapped, events, given;
	struct text_buf line; /* the incomplete next line */
	bool passing;         /* inside a line that is too long */
};

/* ---- Lines ---- */

/* The @size bytes of @line without its line ending. */
struct text_scan line_content(const char *line, size_t size);

/* The bytes of the line at @off of a buffered report, with its newline; the last one may have none. */
size_t report_line_size(const struct text_buf *report, size_t off);

/* Writes the pending stack. 0, -EAGAIN, -ENOMEM: then the same call goes on. */
int filter_flush(struct filter *f, struct text_buf *out);

/* Processes one line. On -EAGAIN and -ENOMEM it is not consumed. */
int filter_take_line(struct filter *f, const char *line, size_t size, struct text_buf *out);

/* ---- A report of Apple's systems, held from its first frame until its images are known ---- */

/* Whether a line of @kind belongs to the buffered report, or begins one. */
bool apple_report_has(struct report *r, enum apple_line kind);

/* Learns images. A second list belongs to another report. 0 or -ENOMEM. */
int apple_report_note(struct filter *f, enum apple_line kind, const char *line, size_t size);

/* Buffers the line. 0 or -ENOMEM. */
int apple_report_hold(struct filter *f, const char *line, size_t size);

/*
 * Whether the report ends before a line of @kind and @size: it is complete, another one begins, or it is too
 * long.
 */
bool apple_report_ends(const struct filter *f, enum apple_line kind, size_t size);

/* Replays the report: no more images will be declared. 0, -EAGAIN, -ENOMEM: then the same call goes on. */
int apple_report_replay(struct filter *f, struct text_buf *out);

/* ---- A report in JSON, held from its opening to its closing brace ---- */

/* Begins a report of minidump_stackwalk with the buffered line, or what there is of it, if it is of one. */
int json_report_begin(struct filter *f);

/* Buffers the bytes that belong to the report; @ret: their number. 0 or -ENOMEM. */
int json_report_hold(struct filter *f, const char *bytes, size_t size, size_t *ret);

/* Replays the report, which is whole, or too large. 0, -EAGAIN, -ENOMEM: then the same call goes on. */
int json_report_replay(struct filter *f, struct text_buf *out);

/* ---- A heap file, held until its list of mappings ends, which is its last part ---- */

/*
 * Whether the line is of a heap file, and buffered. A report that is held has all lines until it ends. 1, 0,
 * -EAGAIN, -ENOMEM.
 */
int heap_file_hold(struct filter *f, const char *line, size_t size, struct text_buf *out);

/* Replays the file: its mappings are known. 0, -EAGAIN, -ENOMEM: then the same call goes on. */
int heap_file_replay(struct filter *f, struct text_buf *out);

#endif
