/*
 * wrap_malloc.h - lets one allocation fail, and counts those that are not freed. Links with --wrap of each
 * function, see wrap_malloc in meson.build.
 */
#ifndef TESTS_WRAP_MALLOC_H
#define TESTS_WRAP_MALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);

static long allowed = -1; /* allocations until one fails; negative: none does */

static bool fails(void)
{
	return allowed >= 0 && allowed-- == 0;
}

static _Atomic long live; /* allocations that were not freed; by any thread */

static void *counted(void *p)
{
	live += p != NULL;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (fails())
		return NULL;
	void *moved = __real_realloc(p, size);
	return p ? moved : counted(moved);
}

char *__wrap_strdup(const char *text)
{
	char *copy = __wrap_malloc(strlen(text) + 1);
	return copy ? strcpy(copy, text) : NULL;
}

char *__wrap_strndup(const char *text, size_t size)
{
	size_t n = strnlen(text, size);
	char *copy = __wrap_malloc(n + 1);
	if (copy)
		*(char *)mempcpy(copy, text, n) = 0;
	return copy;
}

void __wrap_free(void *p)
{
	live -= p != NULL;
	__real_free(p);
}

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
