/*
 * unit.h - unit tests with cmocka that register themselves.
 *
 * A program is one or more files of TEST()s; main() is in unit_main.c, unless a file has one, which then
 * calls unit_run(). Tests run in the order of their definition. CMOCKA_TEST_FILTER=name chooses one.
 */
#ifndef TESTS_LIB_UNIT_H
#define TESTS_LIB_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* One test. Memory of the program's own, since tests replace malloc(3). */
struct unit_test {
	struct CMUnitTest test;
	struct unit_test *next;
};

/* Adds a test that stays where it is. */
void unit_add(struct unit_test *test);

/* Has each test that names no functions of its own begin and end with these; NULL: nothing. */
void unit_each(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* Has the program begin and end with these; NULL: nothing. */
void unit_all(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* Runs all tests; the exit status. */
int unit_run(void);

/* Arguments of the program, from main() of unit_main.c. */
extern int unit_argc;
extern char **unit_argv;

/* Tests look into what a lock guards while no thread runs. */
#ifdef __clang__
#define UNIT_TEST_ATTRIBUTES __attribute__((no_thread_safety_analysis))
#else
#define UNIT_TEST_ATTRIBUTES
#endif

/* Defines a test: TEST(name) { ... } */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* Defines a test that begins and ends with functions of its own. */
#define TEST_WITH(name, set_up, tear_down)                                                     \
	static void name(void **state) UNIT_TEST_ATTRIBUTES;                                   \
	__attribute__((constructor)) static void register_test_##name(void)                    \
	{                                                                                      \
		static struct unit_test test = {{#name, name, set_up, tear_down, NULL}, NULL}; \
		unit_add(&test);                                                               \
	}                                                                                      \
	static void name(void **state __attribute__((unused)))

/* Defines a test of what its program's or its own set-up made: TEST_OF(name, struct fixture, f) { ... } */
#define TEST_OF(name, type, variable)                               \
	static void name##_of(type *variable) UNIT_TEST_ATTRIBUTES; \
	TEST(name)                                                  \
	{                                                           \
		name##_of(*state);                                  \
	}                                                           \
	static void name##_of(type *variable)

/* Says once a program what each test, or the program, begins and ends with. */
#define EACH_TEST(set_up, tear_down)                              \
	__attribute__((constructor)) static void begin_each(void) \
	{                                                         \
		unit_each(set_up, tear_down);                     \
	}
#define ALL_TESTS(set_up, tear_down)                             \
	__attribute__((constructor)) static void begin_all(void) \
	{                                                        \
		unit_all(set_up, tear_down);                     \
	}

#endif
