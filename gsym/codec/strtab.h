/*
 * strtab.h - the string table and the file table being written.
 *
 * Of strings, which end with a NUL, each is stored once, in order of insertion. Offset 0 is the empty string.
 *
 * Slots of the hash table keep size and hash of their string, so that growing reads no string and most
 * mismatches cost no other memory access. Internal.
 */
#ifndef GSYM_CODEC_STRTAB_H
#define GSYM_CODEC_STRTAB_H

#include "gsym/base/probe.h"
#include "gsym/base/vec.h"

#include <stddef.h>
#include <stdint.h>

/* A stored string; @strp 0 marks a free slot, as the empty string is never looked up. */
struct strtab_slot {
	uint64_t strp;
	uint32_t size;
	uint32_t hash;
};

struct strtab {
	char *bytes;
	size_t n, cap;
	uint64_t limit;            /* the table must not grow past this many bytes */
	struct strtab_slot *slots; /* see probe.h */
	size_t n_slots, used;
};

/* Holds just the empty string: 0 or -ENOMEM. */
int strtab_init(struct strtab *table, uint64_t limit);
void strtab_deinit(struct strtab *table);

/*
 * The offset of the string of @size bytes, which is stored when it is new. -EINVAL when it contains a NUL,
 * -EOVERFLOW past the limit, -ENOMEM.
 */
int strtab_add(struct strtab *table, const char *text, size_t size, uint64_t *ret);

/*
 * Space for @size bytes at the end, which the caller fills with terminated strings, none of them in the table
 * yet. strtab_add() does not find these. *ret is valid until the next addition. -EOVERFLOW past the limit,
 * -ENOMEM.
 */
int strtab_extend(struct strtab *table, size_t size, char **ret);

/* ---- A file table: each pair of strings once, in order of insertion; entry 0 is empty ---- */

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
