/* What makes compilers split and clone functions: .cold, .part, .isra, .constprop, .llvm. */
#include "common.h"

struct pair {
	int first, second, unused[14];
};

COLD NOINLINE void complain(const char *what, int n)
{
	for (; *what; what++)
		sink += *what * n;
}

/* The unlikely arms move into .text.unlikely, as work_hard.cold. */
NOINLINE int work_hard(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		if (unlikely(i == sink)) {
			complain("equal", i);
			sum -= 5;
		}
		sum += i * sink;
		if (unlikely(sum < 0)) {
			complain("negative", sum);
			return -1;
		}
	}
	return sum;
}

/* Two cold arms that come from inlined functions. */
static ALWAYS int checked(int n, const char *name)
{
	if (unlikely(n == 12345)) {
		complain(name, n);
		complain(name + 1, n);
		__builtin_trap();
	}
	return n + 1;
}

NOINLINE int check_twice(int n)
{
	int a = checked(n, "first");
	sink = a;
	int b = checked(sink, "second");
	return a * b;
}

/* A cheap test in front of a long body: the body becomes .part.0 and the test is inlined. */
static int expensive(int *p, int n)
{
	if (!p)
		return 0;
	for (int i = 0; i < n; i++) {
		sink += p[i & 3] * i;
		complain("part", sink);
		if (sink == 77)
			complain("77", i);
		sink ^= p[(i + 1) & 3];
		complain("again", p[0]);
	}
	return *p + sink;
}

/* Only one member is used, and by value: an .isra clone. */
static NOINLINE int first_of(const struct pair *pair, int unused)
{
	(void)unused;
	sink += pair->first;
	return pair->first * 3;
}

/* Always called with the same second argument: a .constprop clone. */
static NOINLINE int scale(int x, int factor, int shift)
{
	int y = x * factor;
	for (int i = 0; i < factor; i++)
		y += sink >> shift;
	return y;
}

NOINLINE int parts(int n)
{
	int box[4] = { n, n + 1, n + 2, n + 3 };
	int sum = expensive(n & 1 ? box : 0, n);
	sum += expensive(n & 2 ? box + 1 : 0, 3);
	return sum + expensive(n & 4 ? box : 0, n * 2);
}

int run_split(int n)
{
	struct pair pair = { n, 2, { 0 } };
	int sum = work_hard(n) + check_twice(n) + parts(n);
	sum += first_of(&pair, n) + first_of(&pair, n + 1);
	return sum + scale(n, 17, 3) + scale(sum, 17, 3) + scale(sink, 17, 3);
}
