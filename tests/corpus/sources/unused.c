/* Nothing calls these: with --gc-sections their code is gone and their debug data stays, pointing nowhere. */
#include "common.h"

int unused_one(int n)
{
	return n * sink;
}

static ALWAYS int unused_inline(int n)
{
	return unused_one(n) + n;
}

int unused_two(int n)
{
	return unused_inline(n) - sink;
}

/* Dead ranges beside live ones: the function itself stays, as its unlikely part may not. */
NOINLINE int unused_split(int n)
{
	if (unlikely(n == sink)) {
		sink = unused_two(n);
		__builtin_trap();
	}
	return n;
}
