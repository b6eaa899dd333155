/* Functions far from each other, in sections of their own; very long names; aligned starts with padding between. */
#include "common.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEN(x) JOIN(JOIN(JOIN(x, x), JOIN(x, x)), JOIN(JOIN(x, x), JOIN(x, x)))
#define LONG_NAME JOIN(name_, TEN(TEN(TEN(abcdefgh_))))

__attribute__((section(".text.far"))) NOINLINE int far_away(int n)
{
	return n + sink;
}

__attribute__((section(".text.init_like"), aligned(256))) NOINLINE int init_like(int n)
{
	return far_away(n) * 2;
}

#ifdef _WIN32
#define WEIRD_SECTION "weird" /* GNU as knows no quoted names there */
#else
#define WEIRD_SECTION "weird+section"
#endif

__attribute__((section(WEIRD_SECTION))) NOINLINE int in_weird_section(int n)
{
	return init_like(n) - 1;
}

__attribute__((aligned(64))) NOINLINE int LONG_NAME(int n)
{
	return in_weird_section(n) ^ sink;
}

__attribute__((aligned(128))) NOINLINE int aligned_one(int n)
{
	return n;
}

__attribute__((aligned(128))) NOINLINE int aligned_two(int n)
{
	return -n;
}

int run_sections(int n)
{
	return LONG_NAME(n) + aligned_one(n) + aligned_two(n);
}
