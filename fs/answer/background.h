/*
 * background.h - a thread that makes what takes long of open images: sizes of tables, indexes of names.
 *
 * Each job for a slice of time, in turn those of each user, so that nobody waits for all that somebody else
 * has asked for. Calls that ask for the same of the same image share a job; one for which nobody waits any
 * more is left before its next slice.
 */
#ifndef FS_ANSWER_BACKGROUND_H
#define FS_ANSWER_BACKGROUND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "fs/images/images.h"
#include "fs/sys/lanes.h"

struct wait;

/* What a thread makes. */
struct job_kind {
	const char *thread; /* its name */
	/*
	 * Begins to make @part of an image. NULL without memory, and of an image that is not open: the calls
	 * find out themselves, and wait if they must. @user: of struct background.
	 */
	void *(*begin)(void *user, struct revision *rev, unsigned part);
	/* Goes on, and stops soon after @until (see slice.h): 0 when it is made; -EAGAIN when there is more;
	 * the errno of the calls. */
	int (*go_on)(void *making, int64_t until);
	void (*free)(void *making);
};

struct background {
	/* Set before background_init(), borrowed. */
	const struct job_kind *kind;
	void *user;
	struct images *images; /* its lock guards what follows */
	/* Called about every ten seconds, without the lock; or NULL. */
	void (*tidy)(void *user);
	void *tidy_user;

	struct lanes waiting;
	struct table all; /* jobs */
	unsigned n_begun; /* and are not at their end */
	pthread_cond_t wake;
	atomic_bool stopping; /* also read without the lock */
	bool running;
	pthread_t thread;
};

void background_init(struct background *background);
void background_deinit(struct background *background);

/* 0 or a negative errno. */
int background_start(struct background *background);

/* With images.lock: tells the thread to end, which it does after its slice, and moves all calls to @woken. */
void background_stop(struct background *background, struct list *woken);

/* Waits for it. */
void background_join(struct background *background);

/* Fills @ret_wait, until @part of @rev is made: -EAGAIN. */
int background_await(struct background *background, struct revision *rev, unsigned part,
		     struct wait *ret_wait);

/* With images.lock: how many jobs there are. */
size_t background_count(const struct background *background);

#endif
