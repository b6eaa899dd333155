/* The thread that scans: when, and until when. */
#include "scan.h"

#include <errno.h>
#include <time.h>

#include "index_store.h"
#include "scan_pass.h"
#include "thread.h"

enum {
	REQUEST_SECONDS = 1, /* between the end of a walk and one that was asked for */
	RETRY_SECONDS_MAX = 64,
};

void scan_init(struct scan *scan)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&scan->lock, NULL);
	pthread_cond_init(&scan->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void scan_deinit(struct scan *scan)
{
	index_deinit(&scan->index);
	pthread_cond_destroy(&scan->wake);
	pthread_mutex_destroy(&scan->lock);
}

/* Sleeps until @seconds after @from (0: without end), a request if @or_requested, or the stop. With the lock. */
static void sleep_until(struct scan *scan, struct timespec from, unsigned seconds, bool or_requested)
{
	int err = 0;
	from.tv_sec += seconds;
	while (!scan->stopping && !(or_requested && scan->requested) && err != ETIMEDOUT) {
		if (seconds)
			err = pthread_cond_timedwait(&scan->wake, &scan->lock, &from);
		else
			err = pthread_cond_wait(&scan->wake, &scan->lock);
	}
}

/* Waits until another walk is due: false when it is time to stop instead. @seconds: until one is due unasked. */
static bool wait_for_next(struct scan *scan, unsigned seconds)
{
	struct timespec ended;
	clock_gettime(CLOCK_MONOTONIC, &ended);
	pthread_mutex_lock(&scan->lock);
	sleep_until(scan, ended, seconds, true);
	if (scan->requested)
		sleep_until(scan, ended, REQUEST_SECONDS, false);
	scan->requested = false;
	bool stop = scan->stopping;
	pthread_mutex_unlock(&scan->lock);
	return !stop;
}

/* How long to wait for the next walk as long as none was complete: ever longer. */
static unsigned delay_of(const struct scan *scan, unsigned *retry)
{
	unsigned seconds = *retry;
	if (*retry < RETRY_SECONDS_MAX)
		*retry *= 2;
	return scan->interval && scan->interval < seconds ? scan->interval : seconds;
}

static void *scan_forever(void *arg)
{
	struct scan *scan = arg;
	unsigned retry = 1, delay;
	bool complete = false;
	index_load(&scan->index, scan->cache, scan->source);
	do {
		complete |= scan_pass(scan) == 0;
		delay = complete ? scan->interval : delay_of(scan, &retry);
	} while (wait_for_next(scan, delay));
	return NULL;
}

int scan_start(struct scan *scan)
{
	int err = thread_start(&scan->thread, "scan", scan_forever, scan);
	scan->running = !err;
	return err;
}

void scan_stop(struct scan *scan)
{
	if (!scan->running)
		return;
	pthread_mutex_lock(&scan->lock);
	scan->stopping = true;
	pthread_cond_signal(&scan->wake);
	pthread_mutex_unlock(&scan->lock);
	pthread_join(scan->thread, NULL);
	scan->running = false;
}

void scan_request(struct scan *scan)
{
	pthread_mutex_lock(&scan->lock);
	scan->requested = true;
	pthread_cond_signal(&scan->wake);
	pthread_mutex_unlock(&scan->lock);
}
