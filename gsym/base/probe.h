/*
 * probe.h - open addressing with linear probing: the loop of all such tables, and one of them, which holds
 * the indexes of elements of an array.
 *
 * hash_table.h is for elements that embed a link and may be removed. These tables only grow, and keep in
 * their slots what a lookup compares first: no pointer is followed and nothing is allocated per element.
 * The number of slots is a power of two, and at least half of them are free. No locks; the owner guards it.
 */
#ifndef GSYM_BASE_PROBE_H
#define GSYM_BASE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The first slot, from that of @hash on in a table of @mask + 1, for which @stop, an expression of its number
 * @i, is true: it is free or has the key. A free slot must exist.
 */
#define PROBE(i, hash, mask, stop)               \
	({                                       \
		const size_t mask_ = (mask);     \
		size_t i = (size_t)(hash)&mask_; \
		while (!(stop))                  \
			i = (i + 1) & mask_;     \
		i;                               \
	})

struct index_table {
	uint32_t *slots; /* index + 1; 0 = free */
	size_t mask;
};

/* An empty table of @n_slots, a power of two. 0 or -ENOMEM. */
int index_table_init(struct index_table *table, size_t n_slots);
void index_table_deinit(struct index_table *table);

/*
 * Replaces a table by one of twice the size, to which the caller adds all elements again. On -ENOMEM the
 * table is unchanged.
 */
int index_table_widen(struct index_table *table);

/* Whether the table must be widened before an element is added to @n. */
static inline bool index_table_is_full(const struct index_table *table, size_t n)
{
	return n * 2 > table->mask;
}

/* Adds an index below UINT32_MAX; keys are not compared. */
static inline void index_table_add(struct index_table *table, uint64_t hash, size_t index)
{
	table->slots[PROBE(i, hash, table->mask, !table->slots[i])] = (uint32_t)(index + 1);
}

#endif
