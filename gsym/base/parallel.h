/*
 * parallel.h - one loop on several threads.
 */
#ifndef GSYM_BASE_PARALLEL_H
#define GSYM_BASE_PARALLEL_H

#include <stddef.h>

/* CPUs this process may use, at least 1. */
unsigned parallel_cpus(void);

/*
 * Calls @body once for every index below @n and returns when all calls have. Indexes are handed out in
 * ascending order to up to @threads threads; the calling thread is number 0 and always takes part.
 */
void parallel_for(unsigned threads, size_t n, void (*body)(void *user, size_t index, unsigned thread),
		  void *user);

#endif
