/* The same static names as in statics_a.c, with other bodies. */
#include "common.h"

static NOINLINE int twin(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
	return sink;
}

static NOINLINE int helper(int n)
{
	return twin(n) - sink;
}

static ALWAYS int small(int n)
{
	return n | 0x100;
}

int run_statics_b(int n)
{
	return helper(n) + small(n) + twin(2);
}
