/*
 * filetab.h - a file table being written: each pair of strings once, in order of insertion; entry 0 is
 * empty.
 *
 * Internal.
 */
#ifndef GSYM_CODEC_FILETAB_H
#define GSYM_CODEC_FILETAB_H

#include "gsym/base/probe.h"
#include "gsym/base/vec.h"

struct filetab_entry {
	uint64_t dir, base; /* string table offsets */
};

struct filetab {
	VEC(struct filetab_entry) entries;
	struct index_table table; /* of all but entry 0 */
};

/* Holds just entry 0: 0 or -ENOMEM. */
int filetab_init(struct filetab *files);
void filetab_deinit(struct filetab *files);

/* The index of the entry, which is stored when it is new: 0, -EOVERFLOW past 32 bits, -ENOMEM. */
int filetab_add(struct filetab *files, uint64_t dir, uint64_t base, uint32_t *ret);

#endif
