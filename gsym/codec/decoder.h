/*
 * decoder.h - memory of decoded functions: one growing array per kind of element.
 *
 * The codecs append to the arrays; a function with merged functions takes consecutive stretches of them.
 * Internal.
 */
#ifndef GSYM_CODEC_DECODER_H
#define GSYM_CODEC_DECODER_H

#include "gsym/base/vec.h"
#include "gsym/gsym.h"

/* How many elements of each array are in use: taken before and after a function, it bounds its stretch. */
struct decoder_mark {
	size_t rows, inlines, ranges, callsites, patterns;
};

struct gsym_decoder {
	VEC(struct gsym_row) rows;
	VEC(struct gsym_inline) inlines;
	VEC(struct gsym_range) ranges;
	VEC(struct gsym_callsite) callsites;
	VEC(uint64_t) patterns;
	VEC(struct gsym_func) funcs;    /* the function decoded, then those merged with it */
	VEC(struct decoder_mark) marks; /* where the stretches of each of them begin */
	uint64_t bytes;                 /* of all records decoded so far, which may overlap */
	bool salvages;                  /* a damaged part is left out, instead of failing its function */
	uint64_t n_lost;                /* parts left out so far */
	uint64_t n_deep;                /* nodes whose children were left out so far: INLINE_DEPTH_MAX */
};

#endif
