#include "odr.h"

extern "C" int run_odr_a(int n)
{
	OdrClass object;
	return odr_shared(n) + odr_template(n) + object.dispatch(n) + odr_static_local(n);
}
