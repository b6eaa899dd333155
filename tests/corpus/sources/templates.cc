// Templates: recursion, parameter packs, lambdas in templates, member templates, instances of one line.
#include "common.h"

namespace tpl {

template <int N> struct Count {
	static ALWAYS int run(int n) { return Count<N - 1>::run(n + N) + sink; }
};

template <> struct Count<0> {
	static ALWAYS int run(int n) { return n * sink; }
};

template <typename T> NOINLINE T generic(T a, T b)
{
	T c = a + b;
	sink += (int)c;
	return c * b;
}

template <typename... T> ALWAYS int sum(T... values)
{
	int total = 0;
	int unpacked[] = { (total += (int)generic(values, (T)3))... };
	return total + unpacked[0];
}

template <typename F> NOINLINE int apply(F f, int n)
{
	return f(n) + f(n + 1);
}

template <typename T> struct Box {
	T value;
	template <typename U> NOINLINE T mix(U other) const { return value + (T)other + (T)sink; }
	T scaled(int n) const
	{
		auto step = [this, n](T x) { return x * n + value; };
		return step(step(value));
	}
};

template <template <typename> class C, typename T> NOINLINE int through(C<T> box)
{
	return (int)box.scaled(sink);
}

// Unrolled into itself as far as the compiler likes.
template <int N> inline int fold(int n)
{
	if constexpr (N > 0)
		return fold<N - 1>(n * 3 + N) ^ sink;
	else
		return n;
}

} // namespace tpl

extern "C" int run_templates(int n)
{
	using namespace tpl;
	Box<long> box{ n };
	int result = Count<20>::run(n) + sum(n, (long)n, (unsigned char)n) + fold<12>(n);
	result += apply([n](int m) { return m * n; }, n);
	result += apply([&box](int m) { return (int)box.mix(m); }, n);
	return result + (int)box.mix((char)n) + (int)box.scaled(n) + through(box);
}
