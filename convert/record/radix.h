/*
 * radix.h - sorting by 64-bit keys. Stable, and linear for the addresses of an object file, which share most
 * bytes.
 */
#ifndef CONVERT_RECORD_RADIX_H
#define CONVERT_RECORD_RADIX_H

#include <stddef.h>
#include <stdint.h>

struct keyed {
	uint64_t key;
	uint32_t index; /* of whatever is sorted; equal keys keep their order */
};

/* 0 or -ENOMEM, which leaves @v as it was. */
int radix_sort(struct keyed *v, size_t n);

#endif
