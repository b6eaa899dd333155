/* packed_name.h - names of files that are compressed whole: "libx.debug.xz" holds "libx.debug". */
#ifndef WORK_TYPES_PACKED_NAME_H
#define WORK_TYPES_PACKED_NAME_H

#include <stddef.h>
#include <string.h>

enum { PACKED_ENDINGS = 3, PACKED_ENDING_SIZE = 5 };

/* In the order in which they are looked for. */
static const char packed_endings[PACKED_ENDINGS][PACKED_ENDING_SIZE] = {".xz", ".zst", ".gz"};

/*
 * Begins a request for a file, compressed or not: "packed /a" stands for the first that exists of /a, /a.xz,
 * /a.zst and /a.gz. Other requests are absolute paths.
 */
#define PACKED "packed "

/* The size of @name without such an ending: its length if it has none. */
static inline size_t unpacked_size(const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < PACKED_ENDINGS; i++) {
		size_t ending = strlen(packed_endings[i]);
		if (n > ending && !strcmp(name + n - ending, packed_endings[i]))
			return n - ending;
	}
	return n;
}

#endif
