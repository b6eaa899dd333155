/*
 * A library to preload: one allocation fails, or that one and all after it. FAIL_MALLOC is its number, from
 * 0; a '-' after it means all after it, too. At the end the number of allocations is written to descriptor
 * FAIL_MALLOC_FD.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

#define EXPORT __attribute__((visibility("default")))

static atomic_long seen, first = -1, last = -1;
static int report = -1;

__attribute__((constructor)) static void begin(void)
{
	const char *number = getenv("FAIL_MALLOC"), *fd = getenv("FAIL_MALLOC_FD");
	char *end = NULL;
	long n = number ? strtol(number, &end, 10) : -1;
	report = fd ? atoi(fd) : -1;
	seen = 0;
	last = n >= 0 && *end ? __LONG_MAX__ : n;
	first = n;
}

__attribute__((destructor)) static void finish(void)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%ld\n", (long)seen);
	if (report >= 0 && write(report, text, (size_t)n) != n)
		_exit(3);
}

static int fails(void)
{
	long n = atomic_fetch_add(&seen, 1);
	if (first < 0 || n < first || n > last)
		return 0;
	errno = ENOMEM;
	return 1;
}

EXPORT void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

EXPORT void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}
