#include "odr.h"

static NOINLINE int only_b(OdrClass *object, int n)
{
	return object->dispatch(n);
}

extern "C" int run_odr_b(int n)
{
	OdrClass object;
	return odr_template((long)n) + odr_template(n) + only_b(&object, n) + odr_static_local(n);
}
