/* slice.h - how long a thread stays with one thing while others wait. */
#ifndef FS_SYS_SLICE_H
#define FS_SYS_SLICE_H

#include <stdint.h>
#include <time.h>

enum {
	FUSE_SLICE_MS = 2,  /* a thread that serves requests */
	WORK_SLICE_MS = 20, /* one that has nothing else to do */
};

/* CLOCK_MONOTONIC in nanoseconds. */
static inline int64_t time_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* The moment @ms from now. */
static inline int64_t time_after(unsigned ms)
{
	return time_now() + ms * INT64_C(1000000);
}

#endif
