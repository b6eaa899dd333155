/*
 * notes.h - what is written down about a conversion for the file status: "key<TAB>value" lines, escaped.
 *
 * Kept behind the converted image, see handle.h. Workers may send as much as they like; what does not fit is
 * left out.
 */
#ifndef CONVERT_CACHE_NOTES_H
#define CONVERT_CACHE_NOTES_H

#include "convert/record/convert_types.h"
#include "convert/worker/worker.h"
#include "gsym/base/text_buf.h"

enum {
	NOTES_MAX = 64 * 1024, /* bytes */
};

void note_oddity(struct text_buf *notes, const struct worker_oddity *m);
void note_missing(struct text_buf *notes, const struct worker_missing *m);
void note_segment(struct text_buf *notes, const struct worker_segment *m);
void note_section(struct text_buf *notes, const struct worker_section *m);

/* What the notes tell of addresses and names; the rest of them is for people. */
struct address_map {
	bool has_ada;  /* some of the image is written in Ada */
	uint64_t base; /* link-time address of what is loaded first */
	size_t n;
	struct {
		uint64_t off, addr, size;
	} segments[CONVERT_SEGMENTS_MAX];
};

/* Reads it from @notes, which may be any bytes: what is not understood is passed over. */
void notes_read_map(struct span notes, struct address_map *ret);

void note_image_base(struct text_buf *notes, uint64_t base);
void note_ada(struct text_buf *notes);

/* Servers of debuginfod were asked for the debug file of @id: 0 they have given it, or a negative errno. */
void note_fetch(struct text_buf *notes, const uint8_t *id, size_t size, int err);

/* A neighbour was opened, as @before others were. */
void note_neighbour(struct text_buf *notes, unsigned before, const char *path);

#endif
