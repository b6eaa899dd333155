/*
 * background.h - a thread that computes, for open images, what takes too long for a request: sizes of tables,
 * indexes of names.
 *
 * Jobs are time-sliced, round robin between users, so that one user's jobs do not delay another's. Calls that
 * need the same part of the same image share a job. A job that no call waits for any more is dropped before
 * its next slice.
 */
#ifndef FS_ANSWER_BACKGROUND_H
#define FS_ANSWER_BACKGROUND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "fs/images/images.h"
#include "fs/sys/user_queues.h"

struct wait;

/* What a thread computes. */
struct job_kind {
	const char *thread; /* its name */
	/*
	 * Begins with @part of an image. NULL when out of memory, and when the image is not open: the calls
	 * are then attempted again, and wait for the image if they must. @user: of struct background.
	 */
	void *(*begin)(void *user, struct revision *rev, unsigned part);
	/* Continues, and returns soon after @until (see slice.h): 0 when done; -EAGAIN when not; the errno
	 * of the calls. */
	int (*go_on)(void *job, int64_t until);
	void (*free)(void *job);
};

struct background {
	/* Set before background_init(), borrowed. */
	const struct job_kind *kind;
	void *user;
	struct images *images;
	/* Called about every ten seconds, without images.lock; or NULL. */
	void (*tidy)(void *user);
	void *tidy_user;

	/* Guarded by images.lock. */
	struct user_queues waiting; /* jobs that the thread is not working on */
	struct table all;           /* jobs */
	unsigned n_begun;           /* jobs begun and not done; written by the thread alone */
	pthread_cond_t wake;
	atomic_bool stopping; /* also read without the lock */
	bool running;
	pthread_t thread;
};

void background_init(struct background *background);
void background_deinit(struct background *background);

/* 0 or a negative errno. */
int background_start(struct background *background);

/* With images.lock: has the thread end after its slice, and moves all calls to @woken. */
void background_stop(struct background *background, struct list *woken);

/* Waits for the thread to end. */
void background_join(struct background *background);

/* Has the call wait until @part of @rev is done: fills @ret_wait and returns -EAGAIN. */
int background_await(struct background *background, struct revision *rev, unsigned part,
		     struct wait *ret_wait);

/* The number of jobs. With images.lock. */
size_t background_count(const struct background *background);

#endif
