#include "gsym/base/sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
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
#define DEFINE_SORT(head, type, number, key)                                             \
	head(type *v, type *scratch, size_t n, unsigned low)                             \
	{                                                                                \
		type *from = v, *to = scratch, *swap;                                    \
		number differ = 0;                                                       \
		for (size_t i = 1; i < n; i++)                                           \
			differ |= v[i] key ^ v[0] key;                                   \
		for (unsigned shift = low; differ >> shift; shift += DIGIT_BITS) {       \
			size_t at[DIGITS] = {0};                                         \
			if (!(differ >> shift & (DIGITS - 1)))                           \
				continue;                                                \
			for (size_t i = 0; i < n; i++)                                   \
				at[from[i] key >> shift & (DIGITS - 1)]++;               \
			add_up(at);                                                      \
			for (size_t i = 0; i < n; i++)                                   \
				to[at[from[i] key >> shift & (DIGITS - 1)]++] = from[i]; \
			swap = from;                                                     \
			from = to;                                                       \
			to = swap;                                                       \
			if (shift + DIGIT_BITS >= 8 * sizeof(number))                    \
				break;                                                   \
		}                                                                        \
		if (from != v)                                                           \
			memcpy(v, from, n * sizeof(*v));                                 \
	}

DEFINE_SORT(void sort_u32, uint32_t, uint32_t, )
DEFINE_SORT(void sort_u64, uint64_t, uint64_t, )
DEFINE_SORT(static void sort_keyed, struct keyed, uint64_t, .key)

int radix_sort(struct keyed *v, size_t n)
{
	bool sorted = true;
	for (size_t i = 1; i < n && sorted; i++)
		sorted = v[i - 1].key <= v[i].key;
	if (sorted)
		return 0;
	struct keyed *scratch = malloc(n * sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	sort_keyed(v, scratch, n, 0);
	free(scratch);
	return 0;
}

int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}
