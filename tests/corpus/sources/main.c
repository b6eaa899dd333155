/* Calls everything once. With BARE there is no C library and the entry point is ours. */
#include "common.h"

volatile int sink;

static int run_all(int n)
{
	return run_inlines(n) + run_split(n) + run_switches(n) + run_aliases(n) + run_statics_a(n) +
	       run_statics_b(n) + run_sections(n) + run_lines(n) + run_unity(n) + run_shapes(n) +
	       run_templates(n) + run_odr_a(n) + run_odr_b(n) + asm_plain(n);
}

#ifdef BARE
void _start(void);
void _start(void)
{
	sink = run_all(sink);
	for (;;)
		;
}
#else
int main(int argc, char **argv)
{
	sink = argc;
	return run_all(argc) == (int)(long)argv;
}
#endif
