/* Line numbers and paths as code generators write them. */
#include "common.h"

NOINLINE int before(int n) { return n + sink; }

#line 1 "generated dir/with space.y"
NOINLINE int from_grammar(int n)
{
	sink = n;
#line 65530
	sink += 2;
#line 1000000
	return sink;
}

#line 7 "/absolute/../path/./odd.c"
NOINLINE int odd_path(int n)
{
	int a = sink;
#line 3 "./relative/../x.c"
	a += n;
#line 2 "x.c"
	a *= n;
	return a;
}

#line 5 "k\xc3\xa4se.c"
NOINLINE int utf8_path(int n)
{
	return n * sink;
}

#line 40 "lines.c"
#define EXPAND(x) do { sink += (x); sink *= 3; sink -= before(x); } while (0)

NOINLINE int macro_body(int n)
{
	EXPAND(n); EXPAND(n + 1);
	EXPAND(sink);
	return
		before(
			n
		) +
		before(1)
		;
}

int run_lines(int n)
{
	return before(n) + from_grammar(n) + odd_path(n) + utf8_path(n) + macro_body(n);
}
