/*
 * notes.h - facts about a conversion for the file status: "key<TAB>value" lines, escaped.
 *
 * Stored after the converted image, see handle.h. Limited to NOTES_MAX bytes, whatever a worker sends.
 */
#ifndef WORK_CACHE_NOTES_H
#define WORK_CACHE_NOTES_H

#include "work/worker/worker.h"
#include "gsym/base/text_buf.h"

enum {
	NOTES_MAX = 64 * 1024, /* bytes */
};

void note_warning(struct text_buf *notes, const struct worker_warning *m);
void note_missing(struct text_buf *notes, const struct worker_missing *m);
void note_segment(struct text_buf *notes, const struct worker_segment *m);
void note_section(struct text_buf *notes, const struct worker_section *m);

/* The notes that programs use; all others are for users. */
struct address_map {
	bool has_ada;     /* some unit of the image is written in Ada */
	bool is_relative; /* addresses count from a base that is not known */
	uint64_t base;    /* link-time address of the image's start in memory */
	/* With @is_relative the end of the image's code, set by who opens it. Else 0. */
	uint64_t relative_end;
	size_t n;
	struct {
		uint64_t off, addr, size;
	} segments[WORKER_SEGMENTS_MAX];
};

/* Parses @notes, which may be any bytes: unknown lines are ignored. */
void notes_read_map(struct span notes, struct address_map *ret);

void note_image_base(struct text_buf *notes, uint64_t base);
void note_ada(struct text_buf *notes);
void note_relative(struct text_buf *notes);

/* Symbols without size end where @table says. */
void note_bounds(struct text_buf *notes, const char *table);

/* The debug file of @id was requested from debuginfod servers. @err: 0 if one had it, or a negative errno. */
void note_fetch(struct text_buf *notes, const uint8_t *id, size_t size, int err);

/* A neighbour was opened, after @before others. */
void note_neighbour(struct text_buf *notes, unsigned before, const char *path);

/* A neighbour could not be looked for or read for want of permission, after @before others. */
void note_denied(struct text_buf *notes, unsigned before, const char *path);

#endif
