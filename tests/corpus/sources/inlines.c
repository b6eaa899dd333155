/* Inlining: deep, over headers, into both arms of a branch, twice on one line, out of a loop. */
#include "outer.h"

#define LEVEL(n, below)                                     \
	static ALWAYS int level_##n(int x)                  \
	{                                                   \
		sink += n;                                  \
		return below(x + n) * 3 + (x & n);          \
	}

static ALWAYS int level_0(int x)
{
	return sink - x;
}

LEVEL(1, level_0)
LEVEL(2, level_1)
LEVEL(3, level_2)
LEVEL(4, level_3)
LEVEL(5, level_4)
LEVEL(6, level_5)
LEVEL(7, level_6)
LEVEL(8, level_7)
LEVEL(9, level_8)

static inline int maybe(int x)
{
	if (x > sink)
		return outer_twice(x);
	return level_3(x);
}

/* Straight-line code, no row of its own: the body is nothing but an inlined call. */
NOINLINE int only_inlined(int x)
{
	return outer_twice(x);
}

NOINLINE int twice_on_one_line(int x) { return inner_step(x, 1) + inner_step(2, x) + maybe(x) * maybe(x - 1); }

static ALWAYS int with_blocks(int x)
{
	{
		int shadow = x * 2;
		{
			int y = inner_step(shadow, x);
			sink = y;
		}
	}
	return sink;
}

NOINLINE int deep(int x)
{
	int total = level_9(x);
	while (total > 1000)
		total -= with_blocks(total);
	return total;
}

/* Recursion with a part that is inlined into itself. */
int recurse(int n)
{
	if (n < 2)
		return n;
	return recurse(n - 1) + recurse(n - 2) + inner_step(n, n);
}

int run_inlines(int n)
{
	return only_inlined(n) + twice_on_one_line(n) + deep(n) + recurse(n & 7);
}
