// Another unit with the same bodies, and with instances that the first one has, too.
#include "folded.h"

static NOINLINE USED int only_here(int n)
{
	for (int i = 0; i < n; i++)
		sink ^= i;
	return sink * 3;
}

struct Crate { int pad, depth; int heavy(int n) const; };
NOINLINE int Crate::heavy(int n) const
{
	sink = n;
	return depth * n;
}

namespace {
struct Inner { int member; };
}

extern "C" NOINLINE int run_folded_b(int n)
{
	static Inner value;
	static List<Inner> list;
	static Node<Inner> node = { &value, 0, 3 };
	static List<Type3> other;
	static Type3 type;
	static Node<Type3> third = { &type, 0, 4 };
	Crate crate{ n, 3 };
	auto lambda = [](int m) __attribute__((noinline)) {
		sink = m;
		return m * 7;
	};
	auto twin = [](int m) __attribute__((noinline)) {
		sink = m;
		return m * 7;
	};
	return only_here(n) + measure(list, &node) + measure(other, &third) + crate.heavy(n) + lambda(n) + twin(n);
}
