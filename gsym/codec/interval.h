/*
 * interval.h - address intervals of a function over which a lookup gives one result. Internal.
 *
 * The decoders of line tables and of inline info fill these in; read/intervals.h combines them.
 */
#ifndef GSYM_CODEC_INTERVAL_H
#define GSYM_CODEC_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

enum {
	INTERVAL_DAMAGED = UINT32_MAX, /* as a node: a lookup here is -EBADMSG */
};

struct interval {
	uint32_t off;  /* first offset, from the function's start */
	uint32_t file; /* of the row, not checked against the file table; 0 = no row */
	uint32_t line;
	uint32_t node; /* the innermost inlined call, 0 = none, or INTERVAL_DAMAGED */
};

/* Offsets from a function's start; a vector, see vec.h. */
struct offset_list {
	uint32_t *v;
	size_t n, cap;
};

#endif
