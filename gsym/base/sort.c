#include "gsym/base/sort.h"

#include <string.h>

enum {
	DIGIT_BITS = 8,
	DIGITS = 1 << DIGIT_BITS,
};

/* Counts to positions. */
static void add_up(size_t at[DIGITS])
{
	size_t sum = 0;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t n = at[i];
		at[i] = sum;
		sum += n;
	}
}

/* Numbers go from one array to the other once for each digit in which any two differ. */
#define DEFINE_SORT(name, type)                                                      \
	void name(type *v, type *scratch, size_t n, unsigned low)                    \
	{                                                                            \
		type *from = v, *to = scratch, *swap, differ = 0;                    \
		for (size_t i = 1; i < n; i++)                                       \
			differ |= v[i] ^ v[0];                                       \
		for (unsigned shift = low; differ >> shift; shift += DIGIT_BITS) {   \
			size_t at[DIGITS] = {0};                                     \
			if (!(differ >> shift & (DIGITS - 1)))                       \
				continue;                                            \
			for (size_t i = 0; i < n; i++)                               \
				at[from[i] >> shift & (DIGITS - 1)]++;               \
			add_up(at);                                                  \
			for (size_t i = 0; i < n; i++)                               \
				to[at[from[i] >> shift & (DIGITS - 1)]++] = from[i]; \
			swap = from;                                                 \
			from = to;                                                   \
			to = swap;                                                   \
			if (shift + DIGIT_BITS >= 8 * sizeof(type))                  \
				break;                                               \
		}                                                                    \
		if (from != v)                                                       \
			memcpy(v, from, n * sizeof(*v));                             \
	}

DEFINE_SORT(sort_u32, uint32_t)
DEFINE_SORT(sort_u64, uint64_t)

int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}
