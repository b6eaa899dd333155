/*
 * huge_pages.h - advice to use huge pages for memory that is filled from one end to the other: filling small
 * ones costs a page fault every 4 KiB. Advice may be refused, and changes nothing but time.
 */
#ifndef GSYM_BASE_HUGE_PAGES_H
#define GSYM_BASE_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 }; /* bytes, on most machines */

/* Advises the huge pages within @size bytes at @at, which may lie anywhere. */
static inline void huge_pages_advise(void *at, size_t size)
{
	uintptr_t first = ((uintptr_t)at + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
	uintptr_t end = ((uintptr_t)at + size) & ~(uintptr_t)(HUGE_PAGE - 1);
	if (first < end)
		(void)madvise((void *)first, end - first, MADV_HUGEPAGE);
}

#endif
