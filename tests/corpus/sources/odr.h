// Inline functions that two units emit; the linker keeps one copy of each.
#ifndef ODR_H
#define ODR_H
#include "common.h"

inline NOINLINE int odr_shared(int n)
{
	return n * sink + 1;
}

template <typename T> NOINLINE T odr_template(T n)
{
	return odr_shared((int)n) + n;
}

struct OdrClass {
	NOINLINE int method(int n) { return odr_shared(n) - sink; }
	virtual int dispatch(int n) { return method(n) + 1; }
};

inline int odr_static_local(int n)
{
	static int calls;
	calls += n;
	return calls + odr_shared(n);
}
#endif
