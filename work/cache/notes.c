#include "work/cache/notes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gsym/base/escape.h"

enum { USES_MAX = 16 };

#define RELATIVE "addresses\trelative"
#define ADA      "language\tAda"

void note_warning(struct text_buf *notes, const struct worker_warning *m)
{
	if (notes->n > NOTES_MAX / 2)
		return; /* a compromised worker could send any number of kinds */
	text_lit(notes, "skipped\t");
	text_dec(notes, m->count);
	text_char(notes, ' ');
	escape_str(notes, m->kind, ESCAPE_TSV);
	if (m->first[0]) {
		text_lit(notes, " (first: ");
		escape_str(notes, m->first, ESCAPE_TSV);
		text_char(notes, ')');
	}
	if (m->effect[0]) {
		text_lit(notes, ": ");
		escape_str(notes, m->effect, ESCAPE_TSV);
	}
	text_char(notes, '\n');
}

void note_missing(struct text_buf *notes, const struct worker_missing *m)
{
	if (notes->n > NOTES_MAX / 2)
		return;
	text_lit(notes, "missing\t");
	escape_str(notes, m->name, ESCAPE_TSV);
	text_char(notes, '\n');
}

/* Limits are staggered: warnings and missing files leave room for sections, and these for segments. */
void note_section(struct text_buf *notes, const struct worker_section *m)
{
	if (notes->n > NOTES_MAX * 3 / 4)
		return;
	text_lit(notes, "section\t");
	escape_str(notes, m->name, ESCAPE_TSV);
	text_char(notes, ' ');
	text_addr(notes, m->addr);
	text_char(notes, ' ');
	text_dec(notes, m->size);
	text_char(notes, '\n');
}

void note_segment(struct text_buf *notes, const struct worker_segment *m)
{
	if (notes->n > NOTES_MAX * 7 / 8)
		return;
	text_lit(notes, "segment\t");
	text_addr(notes, m->off);
	text_char(notes, ' ');
	text_addr(notes, m->addr);
	text_char(notes, ' ');
	text_addr(notes, m->size);
	text_char(notes, '\n');
}

void note_image_base(struct text_buf *notes, uint64_t base)
{
	text_lit(notes, "image_base\t");
	text_addr(notes, base);
	text_char(notes, '\n');
}

void note_ada(struct text_buf *notes)
{
	text_lit(notes, ADA "\n");
}

void note_relative(struct text_buf *notes)
{
	text_lit(notes, RELATIVE "\n");
}

void note_bounds(struct text_buf *notes, const char *table)
{
	text_lit(notes, "bounded_by\t");
	escape_str(notes, table, ESCAPE_TSV);
	text_char(notes, '\n');
}

/* Only the first ones are listed: there may be thousands of .dwo files. */
static void add_path(struct text_buf *notes, const char *key, unsigned before, const char *path)
{
	if (before >= USES_MAX || notes->n > NOTES_MAX / 2)
		return;
	text_str(notes, key);
	escape_str(notes, path, ESCAPE_TSV);
	text_char(notes, '\n');
}

void note_neighbour(struct text_buf *notes, unsigned before, const char *path)
{
	add_path(notes, "uses\t", before, path);
}

void note_denied(struct text_buf *notes, unsigned before, const char *path)
{
	add_path(notes, "denied\t", before, path);
}

void note_fetch(struct text_buf *notes, const uint8_t *id, size_t size, int err)
{
	static const char digits[] = "0123456789abcdef";
	text_lit(notes, "debuginfod\t");
	for (size_t i = 0; i < size; i++) {
		text_char(notes, digits[id[i] >> 4]);
		text_char(notes, digits[id[i] & 15]);
	}
	text_lit(notes, ": ");
	text_str(notes, !err ? "found" : err == -ENOENT ? "no server has it" : strerror(-err));
	text_char(notes, '\n');
}

/* ---- Reading ---- */

static bool read_segment(const char *line, struct address_map *map)
{
	unsigned long long off, addr, size;
	if (map->n == WORKER_SEGMENTS_MAX ||
	    sscanf(line, "segment\t0x%llx 0x%llx 0x%llx", &off, &addr, &size) != 3)
		return false;
	map->segments[map->n].off = off;
	map->segments[map->n].addr = addr;
	map->segments[map->n++].size = size;
	return true;
}

void notes_read_map(struct span notes, struct address_map *ret)
{
	const char *at = (const char *)notes.data, *end = at + notes.size;
	unsigned long long base;
	*ret = (struct address_map){0};
	while (at < end) {
		char line[128];
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((stop ? stop : end) - at);
		snprintf(line, sizeof(line), "%.*s", (int)(size < sizeof(line) ? size : 0), at);
		if (!read_segment(line, ret) && sscanf(line, "image_base\t0x%llx", &base) == 1)
			ret->base = base;
		ret->is_relative |= strcmp(line, RELATIVE) == 0;
		ret->has_ada |= strcmp(line, ADA) == 0;
		at += size + 1;
	}
}
