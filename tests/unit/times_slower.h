/* times_slower.h - how much slower programs are where tests/hosts/run emulates them. */
#ifndef TESTS_TIMES_SLOWER_H
#define TESTS_TIMES_SLOWER_H

#include <stdlib.h>

/* TIMES_SLOWER of the environment; 1 without it. */
static inline unsigned times_slower(void)
{
	const char *times = getenv("TIMES_SLOWER");
	return times ? (unsigned)strtoul(times, NULL, 10) : 1;
}

#endif
