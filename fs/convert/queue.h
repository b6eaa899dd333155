/*
 * queue.h - opens images, one job at a time for each: from the cache, else by conversion.
 *
 * A call that needs an image is parked on it; the first one starts the job. One thread looks it up in the
 * cache, which takes milliseconds, and queues misses for the converting threads, in order of demand. When the
 * image is open or has failed, all its calls are woken.
 */
#ifndef FS_CONVERT_QUEUE_H
#define FS_CONVERT_QUEUE_H

#include <pthread.h>

#include "work/run/convert_run.h"
#include "fs/convert/fragment_queue.h"
#include "fs/convert/remote_conversions.h"
#include "fs/convert/idle.h"
#include "fs/convert/revision_queue.h"
#include "fs/images/images.h"

enum { QUEUE_JOBS_MAX = 64 };

struct metrics;
struct scanner;

/* How images are opened; in the daemon as convert_run.h says. */
struct queue_work {
	bool (*find)(const struct converter *converter, const struct convert_request *request, bool is_known,
		     struct outcome *ret);
	void (*convert)(const struct converter *converter, const struct convert_request *request,
			struct outcome *ret);
};

struct queue {
	/* Set before queue_init(), borrowed. */
	struct images *images;
	struct scanner *scanner;
	const struct converter *converter;
	struct queue_work work;
	struct metrics *metrics;

	/* Guarded by images->lock, as far as @stopping. */
	struct revision_queue opening;    /* revisions in STATE_OPENING that no thread has taken */
	struct revision_queue converting; /* revisions in STATE_QUEUED */
	struct remote_conversions remote; /* those that a thread took, and another host converts */
	struct fragment_queue fragments;  /* @eager is set before queue_init() */
	struct idle idle;                 /* its options are set before queue_init() */
	bool stopping;
	unsigned n_threads;
	pthread_t threads[3 + QUEUE_JOBS_MAX];
};

/* From now on calls that wait for a revision are parked here: see images.open. */
void queue_init(struct queue *queue);
void queue_deinit(struct queue *queue);

/*
 * Starts the threads: one opens, one makes fragments, unless eager one uses an idle host, and @jobs convert,
 * at most QUEUE_JOBS_MAX; those that only wait for a shared store count. 0 or a negative errno.
 */
int queue_start(struct queue *queue, unsigned jobs);

/* Tells the threads to end; the caller holds images->lock. Does not wake calls: see images_wake_all(). */
void queue_stop(struct queue *queue);

/* Waits for them. The converter must have been told to stop. */
void queue_join(struct queue *queue);

/*
 * Starts the job for @rev ahead of a request that @uid is about to make, unless it was started already.
 * @whole: for more than a few addresses. The caller holds images->lock.
 */
void queue_want(struct queue *queue, struct revision *rev, uid_t uid, bool whole);

#endif
