/*
 * mutate.h - small seeded damage to an input, the same on every machine.
 */
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* A sequence of numbers; any start value will do. */
struct chance {
	uint64_t state;
};

/* The next number below @limit, which is at least 1. */
uint64_t chance_below(struct chance *chance, uint64_t limit);

/* Bytes with room to grow. @data is the caller's and holds @cap bytes. */
struct sample {
	uint8_t *data;
	size_t size;
	size_t cap;
};

/* Changes @sample in one to eight places; @other lends bytes for splices and may be empty. */
void mutate(struct sample *sample, const uint8_t *other, size_t other_size, struct chance *chance);

#endif
