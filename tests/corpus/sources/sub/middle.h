#ifndef MIDDLE_H
#define MIDDLE_H
#include "../common.h"

static ALWAYS int inner_step(int x, int y)
#include "inner.def"

static ALWAYS int middle_sum(int x, int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += inner_step(x, i);
	return inner_step(sum, x);
}
#endif
