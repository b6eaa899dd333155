/*
 * measure.h - the thread that measures tables, which takes long for large images.
 *
 * Each table for a slice of time, in turn those of each user, so that nobody waits for all that somebody else
 * has asked for. A table for which nobody waits any more is left.
 */
#ifndef FS_ANSWER_MEASURE_H
#define FS_ANSWER_MEASURE_H

#include <pthread.h>

#include "fs/sys/lanes.h"

struct call;
struct gsymfs;

struct measure {
	struct gsymfs *fs; /* borrowed; its images.lock guards what follows */
	struct lanes tables;
	struct table all; /* of them */
	unsigned n_begun; /* and are not at their end */
	pthread_cond_t wake;
	bool stopping;
	bool running;
	pthread_t thread;
};

void measure_init(struct measure *measure, struct gsymfs *fs);
void measure_deinit(struct measure *measure);

/* 0 or a negative errno. */
int measure_start(struct measure *measure);

/* With images.lock: tells the thread to end, which it does after its slice, and moves all calls to @woken. */
void measure_stop(struct measure *measure, struct list *woken);

/* Waits for it. */
void measure_join(struct measure *measure);

/* With images.lock: parks a call until the table that its wait names is measured. 0 or -ENOMEM. */
int measure_wait(struct measure *measure, struct call *call);

/* With images.lock: how many tables are to be measured. */
size_t measure_count(const struct measure *measure);

#endif
