/* The thread that scans: when, and until when. */
#include "scan.h"

#include <errno.h>
#include <time.h>

#include "index_store.h"
#include "scan_pass.h"
#include "thread.h"

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

/* Waits until another walk is due: false when it is time to stop instead. */
static bool wait_for_next(struct scan *scan)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += scan->interval;
	pthread_mutex_lock(&scan->lock);
	int err = 0;
	while (!scan->stopping && !scan->requested && err != ETIMEDOUT) {
		if (scan->interval)
			err = pthread_cond_timedwait(&scan->wake, &scan->lock, &until);
		else
			err = pthread_cond_wait(&scan->wake, &scan->lock);
	}
	scan->requested = false;
	bool stop = scan->stopping;
	pthread_mutex_unlock(&scan->lock);
	return !stop;
}

static void *scan_forever(void *arg)
{
	struct scan *scan = arg;
	index_load(&scan->index, scan->cache, scan->source);
	do
		scan_pass(scan);
	while (wait_for_next(scan));
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
