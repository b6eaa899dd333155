/*
 * queue.h - images on their way from cold to ready, one job at a time for each.
 *
 * A call that needs an image is parked on it; the first one starts the job. One thread looks into the cache,
 * which takes milliseconds, and hands what is not there to the threads that convert, in order of demand. When
 * the image is open, or cannot be, all its calls go on. Another thread makes indexes of names, for one call
 * after the other. What else takes long has threads of its own: runners.h, measure.h.
 */
#ifndef FS_CONVERT_QUEUE_H
#define FS_CONVERT_QUEUE_H

#include <pthread.h>

#include "fs/call/call.h"
#include "convert/run/convert_run.h"
#include "fs/images/images.h"
#include "fs/answer/measure.h"
#include "fs/call/runners.h"

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
	struct images *images;             /* borrowed; its lock guards the lists and flags below */
	struct scanner *scanner;           /* borrowed */
	const struct converter *converter; /* borrowed */
	struct metrics *metrics;           /* borrowed */
	struct stage opening;              /* revisions in STATE_OPENING nobody works at */
	struct stage converting;           /* revisions in STATE_QUEUED */
	struct lanes indexing; /* calls that wait for an index of names, in turn those of each user */
	pthread_cond_t indexing_wake;
	atomic_bool stopping;
	unsigned n_threads;
	pthread_t threads[2 + QUEUE_JOBS_MAX];
	struct runners runners;
	struct measure measure;
};

void queue_init(struct queue *queue, struct gsymfs *fs);
void queue_deinit(struct queue *queue);

/* Starts the threads: one that opens, one for names, @jobs that convert, and those of the other parts. 0 or a
 * negative errno. */
int queue_start(struct queue *queue, unsigned jobs);

/*
 * Ends the threads and answers all parked calls with ENOTCONN; later ones are refused likewise. The converter
 * must have been told to stop.
 */
void queue_stop(struct queue *queue);

/*
 * With images.lock: puts @call on the list of what its wait says, starting the job if it is the first. 0 when
 * it is parked; -EAGAIN when there is nothing to wait for any more; another errno to answer with.
 */
int queue_wait(struct queue *queue, struct call *call);

/* With images.lock: starts the job for @rev, which @uid will soon ask for, unless it has been started. */
void queue_want(struct queue *queue, struct revision *rev, uid_t uid);

/* With images.lock: how many wait for a thread. */
size_t stage_count(const struct stage *stage);

#endif
