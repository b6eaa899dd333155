/* Long stretches that repeat: the outliner makes functions of them, which no source line declares. */
#include "../common.h"

int elsewhere(int n);

#define STRETCH(n) (elsewhere((n) + 1) + elsewhere((n) * 3) + elsewhere((n) - 7) + elsewhere((n) ^ 5) + elsewhere(9))

NOINLINE int repeat_one(int n)
{
	int sum = STRETCH(n);
	return sum * 3;
}

NOINLINE int repeat_two(int n)
{
	sink = n;
	int sum = STRETCH(n);
	return sum - 4;
}

NOINLINE int repeat_three(int n)
{
	sink ^= n;
	int sum = STRETCH(n);
	sink = sum;
	return sum + n;
}

NOINLINE int repeat_four(int n)
{
	for (int i = 0; i < n; i++)
		sink += STRETCH(i);
	return n;
}
