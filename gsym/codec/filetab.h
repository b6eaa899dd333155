/*
 * filetab.h - a file table being written: each pair of strings once, in order of insertion; entry 0 is
 * empty.
 *
 * The hash table holds 32-bit indexes of entries, which are the keys; it is specialised rather than shared
 * with strtab.h and string_map.h, as their slots hold different things and their lookups are inlined.
 * Internal.
 */
#ifndef GSYM_CODEC_FILETAB_H
#define GSYM_CODEC_FILETAB_H

#include "gsym/base/vec.h"

struct filetab_entry {
	uint64_t dir, base; /* string table offsets */
};

struct filetab {
	VEC(struct filetab_entry) entries;
	uint32_t *slots; /* entry indices; 0 = free. Open addressing, linear probing, a power of two */
	size_t n_slots;
};

/* Holds just entry 0: 0 or -ENOMEM. */
int filetab_init(struct filetab *table);
void filetab_deinit(struct filetab *table);

/* The index of the entry, which is stored when it is new: 0, -EOVERFLOW past 32 bits, -ENOMEM. */
int filetab_add(struct filetab *table, uint64_t dir, uint64_t base, uint32_t *ret);

#endif
