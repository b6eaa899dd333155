/*
 * The linker lets calls of malloc(3) and its like in this program come here (--wrap), so that those that fail
 * are noted (memory_limit.h). Libraries call the C library's own.
 */
#include <stdint.h>
#include <stdlib.h>

#include "work/types/memory_limit.h"

/* The names are the linker's. NOLINTBEGIN */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
int __real_posix_memalign(void **ret, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
int __wrap_posix_memalign(void **ret, size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
	void *p = __real_malloc(size);
	if (!p)
		memory_limit_note(size);
	return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
	void *p = __real_calloc(n, size);
	size_t all;
	if (!p)
		memory_limit_note(__builtin_mul_overflow(n, size, &all) ? SIZE_MAX : all);
	return p;
}

void *__wrap_realloc(void *p, size_t size)
{
	void *grown = __real_realloc(p, size);
	if (!grown)
		memory_limit_note(size);
	return grown;
}

int __wrap_posix_memalign(void **ret, size_t alignment, size_t size)
{
	int err = __real_posix_memalign(ret, alignment, size);
	if (err)
		memory_limit_note(size);
	return err;
}
/* NOLINTEND */
