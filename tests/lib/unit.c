#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/single_threaded.h>

enum { TESTS_MAX = 256 /* of a program */ };

static struct unit_test *first, **last = &first;
static struct {
	CMFixtureFunction set_up, tear_down;
} each, all;

void unit_add(struct unit_test *test)
{
	*last = test;
	last = &test->next;
}

void unit_each(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	each.set_up = set_up;
	each.tear_down = tear_down;
}

void unit_all(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	all.set_up = set_up;
	all.tear_down = tear_down;
}

int unit_run(void)
{
	static struct CMUnitTest tests[TESTS_MAX];
	size_t n = 0;
	for (const struct unit_test *test = first; test; test = test->next) {
		if (n == TESTS_MAX) {
			fprintf(stderr, "unit: more than %d tests\n", TESTS_MAX);
			return 1;
		}
		tests[n] = test->test;
		if (!tests[n].setup_func && !tests[n].teardown_func) {
			tests[n].setup_func = each.set_up;
			tests[n].teardown_func = each.tear_down;
		}
		n++;
	}
	int failed = _cmocka_run_group_tests("tests", tests, n, all.set_up, all.tear_down);
	/* The library sets it to 0 for good with the first thread. */
	if (!__libc_single_threaded && getenv("UNIT_ONE_THREAD")) {
		fprintf(stderr, "unit: this program starts threads: name it in with_threads of "
				"tests/unit/meson.build\n");
		failed++;
	}
	return failed;
}
