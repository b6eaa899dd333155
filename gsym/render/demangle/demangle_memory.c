#include "gsym/render/demangle/demangle_parts.h"

#include <libiberty/libiberty.h>
#include <setjmp.h>
#include <stdlib.h>

static _Thread_local jmp_buf *without_memory; /* while a demangler runs */

char *demangle_allocating(allocating_demangler *run, const char *name, int options, bool *ret_failed)
{
	jmp_buf place;
	char *text = NULL;
	*ret_failed = false;
	without_memory = &place;
	if (setjmp(place))
		*ret_failed = true;
	else
		text = run(name, options);
	without_memory = NULL;
	return text;
}

/* Weak: a program that links libgsym.a may have functions of these names. */
__attribute__((weak)) void xmalloc_failed(size_t size)
{
	(void)size;
	if (!without_memory)
		abort();
	longjmp(*without_memory, 1);
}

static void *checked(void *p, size_t size)
{
	if (!p)
		xmalloc_failed(size);
	return p;
}

__attribute__((weak)) void *xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1), size);
}

__attribute__((weak)) void *xcalloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size ? size : 1), size);
}

__attribute__((weak)) void *xrealloc(void *p, size_t size)
{
	return checked(realloc(p, size ? size : 1), size);
}
