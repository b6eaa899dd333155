/* monotonic.h - a clock for deadlines, which setting the time does not change. */
#ifndef WORK_OS_MONOTONIC_H
#define WORK_OS_MONOTONIC_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline int64_t monotonic_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline int64_t monotonic_ms(void)
{
	return monotonic_us() / 1000;
}

/* A condition whose waits end at times of this clock: mutex_wait_until(). */
static inline void monotonic_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

#endif
