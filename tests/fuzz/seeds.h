/*
 * seeds.h - the files a replay starts from.
 */
#ifndef TESTS_FUZZ_SEEDS_H
#define TESTS_FUZZ_SEEDS_H

#include <stddef.h>
#include <stdint.h>

struct seed {
	char *path;
	uint8_t *data;
	size_t size;
};

struct seeds {
	struct seed *list;
	size_t count;
	size_t max_size; /* of the largest */
};

/* Reads the file @path, or every regular file below the directory @path, in the order of their names. Returns
 * 0 or a negative errno; what was read so far stays in @seeds either way. */
int seeds_add(struct seeds *seeds, const char *path);
void seeds_deinit(struct seeds *seeds);

#endif
