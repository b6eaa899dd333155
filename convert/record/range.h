/*
 * range.h - address ranges, half open, and sorted sets of them.
 */
#ifndef CONVERT_RECORD_RANGE_H
#define CONVERT_RECORD_RANGE_H

#include "gsym/base/vec.h"

struct range {
	uint64_t lo, hi; /* [lo, hi) */
};

typedef VEC(struct range) range_vec;

/* For CLEANUP(). */
static inline void range_vec_free(range_vec *set)
{
	vec_free(set);
}

/* For qsort(): ascending by lo. */
int range_compare(const void *a, const void *b);

/* Sorts @n ranges by lo, in one pass if they ascend already. */
void ranges_sort(struct range *v, size_t n);

/* Sorts, drops empty ranges and joins those that touch or overlap. */
void ranges_normalize(range_vec *set);

/* The same for @n ranges in place; returns the new number. */
size_t ranges_join(struct range *v, size_t n);

/* The range of a normalized set that contains @addr, or NULL. */
const struct range *ranges_find(const range_vec *set, uint64_t addr);

#endif
