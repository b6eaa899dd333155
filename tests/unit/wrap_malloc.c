#include "tests/unit/wrap_malloc.h"

#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);

long allowed = -1;
_Atomic long live;

bool allocation_fails(void)
{
	return allowed >= 0 && allowed-- == 0;
}

bool end_allocations(void)
{
	const bool failed = allowed < 0;
	allowed = -1;
	return failed;
}

static void *counted(void *p)
{
	live += p != NULL;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return allocation_fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return allocation_fails() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (allocation_fails())
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
