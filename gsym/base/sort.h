/*
 * sort.h - stable sort by radix, least significant digit first: O(n), without comparisons; and the comparison
 * for those who sort in place.
 */
#ifndef GSYM_BASE_SORT_H
#define GSYM_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sorts @v ascending by the bits from number @low on, and leaves those that agree in these in their order;
 * @scratch has room for @n as well. Digits that all numbers share cost nothing.
 */
void sort_u32(uint32_t *v, uint32_t *scratch, size_t n, unsigned low);
void sort_u64(uint64_t *v, uint64_t *scratch, size_t n, unsigned low);

struct keyed {
	uint64_t key;
	uint32_t index; /* of the element; equal keys keep their order */
};

/* Sorts by key, with memory of its own. 0, or -ENOMEM with @v unchanged. */
int radix_sort(struct keyed *v, size_t n);

/* For qsort() and bsearch() of uint64_t. */
int compare_u64(const void *a, const void *b);

#endif
