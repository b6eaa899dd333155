/* wrap_syscall.h - answers calls of syscall(2) in place of the kernel. Links with -Wl,--wrap=syscall. */
#ifndef TESTS_WRAP_SYSCALL_H
#define TESTS_WRAP_SYSCALL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* The test's: whether it answers the call, and how. The kernel has the others. */
static bool answer_call(long number, const long arguments[static 5], long *ret);

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	va_list list;
	long a[5], ret;
	va_start(list, number);
	for (size_t i = 0; i < 5; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	return answer_call(number, a, &ret) ? ret : __real_syscall(number, a[0], a[1], a[2], a[3], a[4]);
}

#endif
