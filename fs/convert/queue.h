/*
 * queue.h - images on their way from cold to ready, one job at a time for each.
 *
 * A call that needs an image is parked on it; the first one starts the job. One thread looks into the cache,
 * which takes milliseconds, and hands what is not there to the threads that convert, in order of demand. When
 * the image is open, or cannot be, all its calls go on.
 */
#ifndef FS_CONVERT_QUEUE_H
#define FS_CONVERT_QUEUE_H

#include <pthread.h>

#include "convert/run/convert_run.h"
#include "fs/images/images.h"
#include "fs/sys/lanes.h"

enum { QUEUE_JOBS_MAX = 64 };

struct metrics;
struct scanner;

/* What a kind of thread does for images: first those that a call waits for, of each user in turn. */
struct stage {
	struct lanes asked;
	struct lanes ahead; /* somebody will ask for them soon */
	pthread_cond_t wake;
};

struct queue {
	/* Set before queue_init(), borrowed. */
	struct images *images; /* its lock guards the lists and flags below */
	struct scanner *scanner;
	const struct converter *converter;
	struct metrics *metrics;

	struct stage opening;    /* revisions in STATE_OPENING nobody works at */
	struct stage converting; /* revisions in STATE_QUEUED */
	bool stopping;
	unsigned n_threads;
	pthread_t threads[1 + QUEUE_JOBS_MAX];
};

/* From now on calls that wait for a revision are parked here: see images.open. */
void queue_init(struct queue *queue);
void queue_deinit(struct queue *queue);

/* Starts the threads: one that opens, and @jobs that convert. 0 or a negative errno. */
int queue_start(struct queue *queue, unsigned jobs);

/* With images.lock: tells the threads to end. Calls are not woken: see images_wake_all(). */
void queue_stop(struct queue *queue);

/* Waits for them. The converter must have been told to stop. */
void queue_join(struct queue *queue);

/* With images.lock: starts the job for @rev, which @uid will soon ask for, unless it has been started. */
void queue_want(struct queue *queue, struct revision *rev, uid_t uid);

/* With images.lock: how many wait for a thread. */
size_t stage_count(const struct stage *stage);

#endif
