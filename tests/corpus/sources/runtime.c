/* What compilers call even without a C library. The loops must not become calls of themselves. */
typedef __SIZE_TYPE__ size;

#ifndef __clang__
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

__attribute__((used)) void *memset(void *to, int byte, size n)
{
	for (volatile char *p = to; n--; p++)
		*p = (char)byte;
	return to;
}

#ifdef _WIN32 /* lld refuses what is not there */
void __cxa_pure_virtual(void);
void __cxa_pure_virtual(void)
{
	for (;;)
		;
}
#endif

__attribute__((used)) void *memcpy(void *to, const void *from, size n)
{
	volatile char *out = to;
	for (const char *in = from; n--;)
		*out++ = *in++;
	return to;
}
