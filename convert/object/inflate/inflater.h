/*
 * inflater.h - compressed bytes inflated from their beginning, piece by piece; one kind for each format.
 */
#ifndef CONVERT_OBJECT_INFLATE_INFLATER_H
#define CONVERT_OBJECT_INFLATE_INFLATER_H

#include "gsym/base/bytes.h"

struct inflater_kind {
	unsigned memory_mib; /* the most that a dictionary may take; 0: it is always small */

	/* Begins to inflate @in, which is borrowed until close(). NULL without memory. */
	void *(*open)(struct span in);
	void (*close)(void *inflater);

	/*
	 * Inflates up to @size bytes to @out, and gives their number, which is less only where the compressed
	 * bytes end. -EBADMSG if they are damaged, -E2BIG if it takes more than memory_mib, -ENOMEM.
	 */
	int64_t (*inflate)(void *inflater, uint8_t *out, size_t size);

	/* Whether the compressed bytes end here as they should, with what they have to verify the others. */
	bool (*ended)(const void *inflater);

	/* The number of compressed bytes that are needed no more, as long as inflate() has not failed. */
	uint64_t (*used)(const void *inflater);
};

#ifdef HAVE_ISAL
extern const struct inflater_kind inflater_zlib;
extern const struct inflater_kind inflater_gzip; /* members one after the other (RFC 1952, 2.2) */
#endif
extern const struct inflater_kind inflater_zstd;
extern const struct inflater_kind inflater_xz;

/* Whether inflater_zstd inflates @in in little memory: as much as a frame lets its data refer back to. */
bool inflater_zstd_suits(struct span in);

#endif
