/*
 * What the examples look at: functions that call each other, some of them inlined. The first argument is the
 * number of rounds to sort and sum; with a second one the program reads past the end of an array.
 */
#include <stdio.h>
#include <stdlib.h>

#define INLINE  static inline __attribute__((always_inline))
#define OUTLINE __attribute__((noinline))

enum { COUNT = 4096 };
int numbers[COUNT];
volatile unsigned sink;

INLINE unsigned mix(unsigned hash, unsigned x)
{
	for (int i = 0; i < 8; i++)
		hash = (hash ^ x) * 16777619u + (hash >> 3);
	return hash;
}

INLINE int at(const int *values, int i)
{
	return values[i];
}

OUTLINE unsigned checksum(const int *values, int n)
{
	unsigned hash = 1;
	for (int i = 0; i < n; i++)
		hash = mix(hash, at(values, i));
	return hash;
}

OUTLINE int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

OUTLINE int shuffle(int *values, int n)
{
	for (int i = 0; i < n; i++)
		values[i] = rand();
	qsort(values, n, sizeof(*values), compare);
	return values[0];
}

OUTLINE int last_of(const int *values, int n)
{
	return at(values, n) + (int)sink;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	for (int i = 0; i < rounds; i++) {
		sink += shuffle(numbers, COUNT);
		sink += checksum(numbers, COUNT);
	}
	if (argc > 2) {
		int *copy = calloc(16, sizeof(*copy));
		sink += last_of(copy, 16);
		free(copy);
	}
	printf("%u\n", sink);
	return 0;
}
