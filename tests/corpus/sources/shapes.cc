// Names: namespaces, anonymous ones, local classes, lambdas, operators, thunks, extern "C" inside a namespace.
#include "common.h"

namespace outer_ns {
namespace inner_ns {

struct Shape {
	virtual int area(int n) const = 0;
	int twice(int n) const { return area(n) * 2; }
};

struct Named {
	virtual int name(int n) const { return n + sink; }
	int padding;
};

struct Square : Shape, Named {
	int area(int n) const override;
	int name(int n) const override;
	struct Nested {
		static NOINLINE int count(int n);
	};
	int operator()(int n) const { return n - sink; }
	operator int() const;
};

NOINLINE int Square::area(int n) const { return n * n + sink; }
NOINLINE int Square::name(int n) const { return padding + n; }
NOINLINE int Square::Nested::count(int n) { return sink - n; }
NOINLINE Square::operator int() const { return padding; }

extern "C" NOINLINE int c_function_in_namespace(int n)
{
	return n ^ sink;
}

inline namespace v2 {
NOINLINE int in_inline_namespace(int n) { return n % 7; }
}

} // namespace inner_ns

namespace {
NOINLINE int hidden_by_namespace(int n) { return n + 11 * sink; }

struct Secret {
	int value;
	NOINLINE int get() const { return value + sink; }
};
}

} // namespace outer_ns

static NOINLINE int overloaded(int n) { return n + 1; }
static NOINLINE int overloaded(long n) { return (int)n + sink; }
static NOINLINE int overloaded(const char *text) { return *text; }

NOINLINE int with_local_class(int n)
{
	struct Local {
		int base;
		NOINLINE int add(int m) { return base + m * sink; }
		int inlined(int m) { return add(m) - base; }
	};
	Local local{ n };
	return local.add(1) + local.inlined(2);
}

NOINLINE int with_lambdas(int n)
{
	auto add = [n](int m) __attribute__((noinline)) { return n + m + sink; };
	auto nest = [&](int m) {
		auto deeper = [&](int k) { return add(k) * n; };
		return deeper(m) + deeper(m + 1);
	};
	return add(1) + nest(2) + [](int m) __attribute__((noinline)) { return m * sink; }(n);
}

static NOINLINE int with_static_member(int n)
{
	static int (*const table[])(int) = {
		[](int m) { return m + sink; },
		[](int m) { return m - sink; },
	};
	return table[n & 1](n);
}

outer_ns::inner_ns::Square global_square;

extern "C" int run_shapes(int n)
{
	using namespace outer_ns;
	inner_ns::Square &square = global_square;
	const inner_ns::Shape *shape = &square;
	const inner_ns::Named *named = &square;
	if (sink == 99)
		shape = nullptr;
	outer_ns::Secret secret{ n };
	return shape->twice(n) + named->name(n) + square(n) + (int)square +
	       inner_ns::Square::Nested::count(n) + inner_ns::c_function_in_namespace(n) +
	       inner_ns::in_inline_namespace(n) + hidden_by_namespace(n) + secret.get() + overloaded(n) +
	       overloaded((long)n) + overloaded("x") + with_local_class(n) + with_lambdas(n) +
	       with_static_member(n);
}
