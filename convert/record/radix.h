/*
 * radix.h - stable radix sort by 64-bit keys, for the addresses of an object file, which share most digits.
 */
#ifndef CONVERT_RECORD_RADIX_H
#define CONVERT_RECORD_RADIX_H

#include <stddef.h>
#include <stdint.h>

struct keyed {
	uint64_t key;
	uint32_t index; /* of the element; equal keys keep their order */
};

/*
 * Least significant digit first, skipping digits that all keys share: O(n). 0, or -ENOMEM with @v unchanged.
 */
int radix_sort(struct keyed *v, size_t n);

#endif
