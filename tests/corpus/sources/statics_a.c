/* The same static names as in statics_b.c, with other bodies. */
#include "common.h"

static NOINLINE int helper(int n)
{
	return n + sink;
}

static NOINLINE int twin(int n)
{
	return helper(n) * 2;
}

static ALWAYS int small(int n)
{
	return n & 0xff;
}

int run_statics_a(int n)
{
	return twin(n) + small(sink) + helper(3);
}
