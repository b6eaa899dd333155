/* image_id.h - image ids as text: in names of cache files, and in the mounted tree. */
#ifndef WORK_CACHE_IMAGE_ID_H
#define WORK_CACHE_IMAGE_ID_H

#include <stdio.h>

#include "work/types/image_identity.h"

enum {
	/* "xxh3-" and 32 digits, or a build id of up to 64 bytes, and the NUL. */
	ID_TEXT_SIZE = 129,
};

/* Lower-case hex, with "xxh3-" before the hash of a file that has no id of its own. */
static inline void id_format(const struct image_identity *identity, char text[ID_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;
	if (identity->id_is_hash)
		for (const char *p = "xxh3-"; *p; p++)
			text[n++] = *p;
	for (size_t i = 0; i < identity->id_size && n + 2 < ID_TEXT_SIZE; i++) {
		text[n++] = digits[identity->id[i] >> 4];
		text[n++] = digits[identity->id[i] & 15];
	}
	text[n] = 0;
}

/* The bytes of such an id: how many; 0 for a hash. */
static inline size_t id_parse(const char *text, uint8_t id[static IMAGE_ID_MAX])
{
	unsigned byte;
	size_t n = 0;
	while (n < IMAGE_ID_MAX && sscanf(text + 2 * n, "%2x", &byte) == 1)
		id[n++] = (uint8_t)byte;
	return text[2 * n] ? 0 : n;
}

#endif
