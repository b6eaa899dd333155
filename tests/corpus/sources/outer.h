/* The outermost of three headers that inline each other; the innermost is included in the middle of a line range. */
#ifndef OUTER_H
#define OUTER_H
#include "sub/middle.h"

static ALWAYS int outer_twice(int x)
{
	int first = middle_sum(x, 3);
	int second = middle_sum(first, x);
	return first ^ second;
}
#endif
