/* Calls to functions that other libraries have, local functions that lose their names, a section of its own. */
#include "../common.h"

int elsewhere(int n);
int far_one(int n);
int far_two(int n);
extern int (*through_data)(int n);

static NOINLINE int local_step(int n)
{
	sink += n;
	return elsewhere(n) + 1;
}

__attribute__((visibility("hidden"))) NOINLINE int hidden_step(int n)
{
	return local_step(n) * far_one(n);
}

__attribute__((section("__TEXT,__far"))) NOINLINE int in_section(int n)
{
	return sink + far_two(n);
}

NOINLINE int calls_others(int n)
{
	int sum = hidden_step(n) + in_section(n);
	if (n > 3)
		sum += elsewhere(sum) - far_one(sum);
	return through_data(sum) + sum;
}

/* The same code, so that folding leaves one. */
NOINLINE int twin_one(int n)
{
	sink = n * 5 + 3;
	return sink / 7;
}

NOINLINE int twin_two(int n)
{
	sink = n * 5 + 3;
	return sink / 7;
}

static NOINLINE int static_twin_one(int n)
{
	sink = n * 9 + 1;
	return sink / 3;
}

static NOINLINE int static_twin_two(int n)
{
	sink = n * 9 + 1;
	return sink / 3;
}

int uses_twins(int n)
{
	return twin_one(n) + twin_two(n) + static_twin_one(n) + static_twin_two(n + 1);
}
