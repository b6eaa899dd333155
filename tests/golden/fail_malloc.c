/*
 * A library to preload: one allocation fails, or that one and all after it. FAIL_MALLOC is its number, from
 * 0; a '-' after it means all after it, too. At the end the number of allocations is written to descriptor
 * FAIL_MALLOC_FD. With FAIL_MALLOC_OWN only those count that the program itself asks for, not its libraries.
 */
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

#define EXPORT __attribute__((visibility("default")))

static atomic_long seen, first = -1, last = -1;
static int report = -1;
static uintptr_t own_lo, own_hi = UINTPTR_MAX; /* of the code whose allocations count */

/* The first object is the program. */
static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			own_lo = info->dlpi_addr + p->p_vaddr;
			own_hi = own_lo + p->p_memsz;
		}
	}
	return 1;
}

__attribute__((constructor)) static void begin(void)
{
	if (getenv("FAIL_MALLOC_OWN"))
		dl_iterate_phdr(find_program, NULL);
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

static bool fails(const void *caller)
{
	if ((uintptr_t)caller < own_lo || (uintptr_t)caller >= own_hi)
		return false;
	long n = atomic_fetch_add(&seen, 1);
	if (first < 0 || n < first || n > last)
		return false;
	errno = ENOMEM;
	return true;
}

EXPORT void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

EXPORT void *realloc(void *p, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size);
}
