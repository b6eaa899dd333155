/* A unity build: one unit out of three files, with the names of other units again. */
#include "common.h"
#include "unity_one.inc"
#include "unity_two.inc"

int run_unity(int n)
{
	return one_public(n) + two_public(n);
}
