// Equal bodies on lines of their own, beside those of templates.
#include "folded.h"

volatile int sink;

struct Apple { int pad, weight; int heavy(int n) const; int light(int n) const; };
struct Brick { int pad, size; int heavy(int n) const; int light(int n) const; };

NOINLINE int Apple::heavy(int n) const
{
	sink = n;
	return weight * n;
}

NOINLINE int Brick::heavy(int n) const
{
	sink = n;

	return size * n;
}

NOINLINE int Apple::light(int n) const { return weight - n * sink; }


NOINLINE int Brick::light(int n) const { return size - n * sink; }

static NOINLINE USED int only_here(int n)
{
	for (int i = 0; i < n; i++)
		sink ^= i;
	return sink * 3;
}

static NOINLINE USED int also_here(int n)
{
	int i = 0;
	for (; i < n; i++) {
		sink ^= i;
	}
	return sink * 3;
}

#define USE(n)                                              \
	{                                                   \
		static Type##n value;                       \
		static List<Type##n> list;                  \
		static Node<Type##n> node = { &value, 0, n }; \
		static Shape<Type##n> shape;                \
		Shape<Type##n> *volatile any = &shape;      \
		result += measure(list, &node) + any->area(n) + any->edge(result); \
	}

int main(int argc, char **)
{
	int result = run_folded_b(argc) + only_here(argc) + also_here(argc);
	Apple apple{ argc, 1 };
	Brick brick{ argc, 2 };
	TYPES(USE)
	return result + apple.heavy(argc) + brick.heavy(result) + apple.light(argc) + brick.light(result);
}
