/*
 * radix.c - least significant digit radix sort, eight bits at a time.
 *
 * One pass over the keys counts all digits and notices sorted input. Each digit that differs between keys
 * then takes one stable pass between the array and a copy of it.
 */
#include "convert/record/radix.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 8, VALUES = 256 };

/* One pass for the digit at @shift, from @from to @to. */
static void pass(const struct keyed *from, struct keyed *to, size_t n, unsigned shift, const size_t *counts)
{
	size_t at[VALUES], sum = 0;
	for (unsigned d = 0; d < VALUES; d++) {
		at[d] = sum;
		sum += counts[d];
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i].key >> shift & (VALUES - 1)]++] = from[i];
}

int radix_sort(struct keyed *v, size_t n)
{
	size_t counts[DIGITS][VALUES] = {0};
	bool sorted = true;
	for (size_t i = 0; i < n; i++) {
		sorted &= !i || v[i - 1].key <= v[i].key;
		for (unsigned d = 0; d < DIGITS; d++)
			counts[d][v[i].key >> d * 8 & (VALUES - 1)]++;
	}
	if (sorted)
		return 0;
	struct keyed *spare = malloc(n * sizeof(*spare)), *from = v, *to = spare;
	if (!spare)
		return -ENOMEM;
	for (unsigned d = 0; d < DIGITS; d++) {
		if (counts[d][v[0].key >> d * 8 & (VALUES - 1)] == n)
			continue; /* all keys share this digit */
		pass(from, to, n, d * 8, counts[d]);
		struct keyed *swap = from;
		from = to;
		to = swap;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
	free(spare);
	return 0;
}
