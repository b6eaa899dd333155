/* Numbers come out as qsort() sorts them: few and many, with digits that all share, and with none. */
#include "gsym/base/sort.h"

#include <stdlib.h>

#include "tests/lib/unit.h"

enum { MOST = 3000 };

static uint64_t generator = 1;

static uint64_t chance(void)
{
	generator = generator * 6364136223846793005u + 1442695040888963407u;
	return generator ^ generator >> 29;
}

TEST(sorted)
{
	static uint64_t v[MOST], want[MOST], scratch[MOST];
	static uint32_t v32[MOST], scratch32[MOST];
	for (unsigned round = 0; round < 500; round++) {
		size_t n = chance() % (round % 3 ? 40 : MOST);
		uint64_t mask = round % 7 ? ~(uint64_t)0 >> chance() % 64 : 0xff00ff, same = chance();
		for (size_t i = 0; i < n; i++)
			want[i] = v[i] = (chance() & mask) | (same & ~mask);
		for (size_t i = 0; i < n; i++)
			v32[i] = (uint32_t)v[i];
		sort_u64(v, scratch, n, 0);
		qsort(want, n, sizeof(*want), compare_u64);
		assert_memory_equal(v, want, n * sizeof(*v));
		sort_u32(v32, scratch32, n, 0);
		for (size_t i = 0; i < n; i++)
			want[i] = (uint32_t)want[i];
		qsort(want, n, sizeof(*want), compare_u64);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(v32[i], want[i]);
	}
}

/* Numbers whose bits from @low on agree stay in their order. */
TEST(sorted_by_high_bits)
{
	static uint64_t v[MOST], scratch[MOST];
	for (unsigned low = 12; low < 64; low++) {
		for (size_t i = 0; i < MOST; i++)
			v[i] = (chance() & 0x3ff) << low | i;
		sort_u64(v, scratch, MOST, low);
		for (size_t i = 1; i < MOST; i++)
			assert_true(v[i - 1] < v[i]);
	}
}
