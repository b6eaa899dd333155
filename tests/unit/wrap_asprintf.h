/*
 * wrap_asprintf.h - wrap_malloc.h, and the same for asprintf(). Links with wrap_malloc and wrap_asprintf of
 * meson.build.
 */
#ifndef TESTS_UNIT_WRAP_ASPRINTF_H
#define TESTS_UNIT_WRAP_ASPRINTF_H

#include <stdarg.h>
#include <stdio.h>

#include "tests/unit/wrap_malloc.h"

static int print(char **ret, const char *format, va_list list) __attribute__((format(printf, 2, 0)));

static int print(char **ret, const char *format, va_list list)
{
	int n = allocation_fails() ? -1 : vasprintf(ret, format, list);
	live += n >= 0;
	return n;
}

__attribute__((format(printf, 2, 3))) int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int n = print(ret, format, list);
	va_end(list);
	return n;
}

__attribute__((format(printf, 3, 4))) int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...)
{
	va_list list;
	(void)flag;
	va_start(list, format);
	int n = print(ret, format, list);
	va_end(list);
	return n;
}

#endif
