/* Calls wherever a compiler puts them: at the top, in blocks, in loops, in inlined code and as tail calls. */
#include <stdio.h>
#include <stdlib.h>

static volatile int sink;

__attribute__((noinline)) int leaf(int x)
{
	sink += x;
	return sink;
}

static inline __attribute__((always_inline)) int deep(int x)
{
	{
		int y = leaf(x);
		if (y > x)
			puts("deep");
	}
	return leaf(x + 1);
}

static inline __attribute__((always_inline)) int middle(int x)
{
	return deep(x) + deep(x * 2);
}

__attribute__((noinline)) int through(int (*f)(int), int x)
{
	int sum = f(x);
	for (int i = 0; i < x; i++) {
		int part = f(i) + leaf(i);
		sum += part * part;
	}
	return sum;
}

__attribute__((noinline)) int tail(int x)
{
	return leaf(x + 2);
}

__attribute__((noinline)) int last(int x)
{
	if (x > 3)
		abort();
	return x;
}

int main(int argc, char **argv)
{
	(void)argv;
	int x = middle(argc);
	if (x > 100) {
		int y = through(leaf, x);
		x += y;
	}
	return tail(x) + last(argc);
}
