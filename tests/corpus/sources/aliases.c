/* Several names for one address, weak definitions, an indirect function, a hidden one. */
#include "common.h"

NOINLINE int real_name(int n)
{
	sink += n;
	return n * 2;
}

int strong_alias(int n) __attribute__((alias("real_name")));
int weak_alias(int n) __attribute__((weak, alias("real_name")));

static NOINLINE USED int local_target(int n)
{
	return sink ^ n;
}

int public_face(int n) __attribute__((alias("local_target")));

__attribute__((weak)) NOINLINE int weak_function(int n)
{
	return n - sink;
}

__attribute__((visibility("hidden"))) NOINLINE int hidden_function(int n)
{
	return n + sink;
}

/* Bodies that are equal: identical code folding, where it is on, makes one of them. */
NOINLINE int equal_one(int n)
{
	sink = n * 5 + 3;
	return sink / 7;
}

NOINLINE int equal_two(int n)
{
	sink = n * 5 + 3;
	return sink / 7;
}

#if defined(WITH_IFUNC)
static int chosen_fast(int n)
{
	return n << 1;
}

static int chosen_slow(int n)
{
	return n + n + sink;
}

static USED int (*resolve_indirect(void))(int)
{
	return sink ? chosen_fast : chosen_slow;
}

int indirect(int n) __attribute__((ifunc("resolve_indirect")));
#else
NOINLINE int indirect(int n)
{
	return n;
}
#endif

int run_aliases(int n)
{
	return real_name(n) + strong_alias(n) + weak_alias(n) + public_face(n) + weak_function(n) +
	       hidden_function(n) + equal_one(n) + equal_two(n) + indirect(n);
}
