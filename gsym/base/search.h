/*
 * search.h - binary search.
 */
#ifndef GSYM_BASE_SEARCH_H
#define GSYM_BASE_SEARCH_H

#include <stddef.h>

/*
 * The first index in [first, end) for which @before is false, or @end. @before, an expression of the index
 * @i, must be true for a prefix of the range and false for the rest. O(log n).
 */
#define PARTITION_POINT(first, end, i, before)            \
	({                                                \
		size_t lo_ = (first), hi_ = (end);        \
		while (lo_ < hi_) {                       \
			size_t i = lo_ + (hi_ - lo_) / 2; \
			if (before)                       \
				lo_ = i + 1;              \
			else                              \
				hi_ = i;                  \
		}                                         \
		lo_;                                      \
	})

#endif
