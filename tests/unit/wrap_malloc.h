/*
 * wrap_malloc.h - lets one allocation fail, and counts those that are not freed. Links with --wrap of each
 * function, see malloc_calls in meson.build.
 */
#ifndef TESTS_WRAP_MALLOC_H
#define TESTS_WRAP_MALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

extern long allowed;      /* allocations until one fails; negative: none does */
extern _Atomic long live; /* allocations that were not freed; by any thread */

/* Whether the next one fails. */
bool allocation_fails(void);

/* None fails any more. Whether one did. */
bool end_allocations(void);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
void __wrap_free(void *p);

/* Has each test begin and end with these two functions without parameters, and free what it allocates. */
#define EACH_TEST_FREES(begin, end)                      \
	static int begin_counting(void **state)          \
	{                                                \
		static long before;                      \
		*state = &before;                        \
		before = live;                           \
		begin();                                 \
		return 0;                                \
	}                                                \
	static int end_counting(void **state)            \
	{                                                \
		end();                                   \
		assert_int_equal(live, *(long *)*state); \
		return 0;                                \
	}                                                \
	EACH_TEST(begin_counting, end_counting)

#endif
