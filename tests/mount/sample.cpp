/* Something to symbolicate: nested inlining, namespaces, templates, and a C function named after the file. */
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

namespace geo
{
static volatile int sink;

template <typename T> inline __attribute__((always_inline)) T square(T x)
{
	sink = (int)x;
	return x * x;
}

struct point {
	int x, y;
	int norm() const;
};

inline __attribute__((always_inline)) int sum_of_squares(int a, int b)
{
	return square(a) + square(b);
}

__attribute__((noinline)) int point::norm() const
{
	return sum_of_squares(x, y);
}
}

extern "C" int JOIN(entry_, NAME)(int n)
{
	geo::point p = {n, n + 1};
	int total = 0;
	for (int i = 0; i < n; i++)
		total += p.norm() + geo::square(i);
	return total;
}
