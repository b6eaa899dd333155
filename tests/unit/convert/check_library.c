/* Libraries that are loaded when they are needed: all of their functions, or none. */
#include "convert/os/library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

struct functions {
	double (*first)(double), (*second)(double), (*third)(double);
};

static const struct library_symbol symbols[] = {
	{"floor", offsetof(struct functions, first)},
	{"ceil", offsetof(struct functions, second)},
	{"fabs", offsetof(struct functions, third)},
};
static const struct library_symbol unknown[] = {
	{"floor", offsetof(struct functions, first)},
	{"gsymfs_has_no_such_function", offsetof(struct functions, second)},
};

static void every_function(void **state)
{
	static const char *const names[] = {"libgsymfs-none.so.1", "libm.so.6", NULL};
	struct functions f = {NULL, NULL, NULL};
	(void)state;
	assert_non_null(library_load(names, symbols, 3, &f));
	assert_true(f.first && f.second && f.third);
	assert_true(f.first(1.5) == 1 && f.second(1.5) == 2 && f.third(-1.5) == 1.5);
}

static void not_there(void **state)
{
	static const char *const none[] = {"libgsymfs-none.so.1", NULL}, *const there[] = {"libm.so.6", NULL};
	struct functions f = {NULL, NULL, NULL};
	(void)state;
	assert_null(library_load(none, symbols, 3, &f));
	assert_null(f.first);
	assert_null(library_load(there, unknown, 2, &f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_function), cmocka_unit_test(not_there)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
