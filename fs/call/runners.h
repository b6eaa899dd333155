/*
 * runners.h - answers that take longer than a thread that serves requests may be held.
 *
 * FUSE threads are few, and while all of them compute, the stat of somebody else waits. So a call that has
 * computed for some milliseconds is handed to other threads, which go on for a slice of time, and then take
 * the next one: in turn those of each user, so that who has a thousand of them does not keep others waiting.
 * Calls that waited for an image go on here, too.
 */
#ifndef FS_CALL_RUNNERS_H
#define FS_CALL_RUNNERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "convert/os/mutex.h"
#include "fs/sys/user_queues.h"

enum { RUNNERS_MAX = 8 };

/* What is queued. */
struct runner_kind {
	/* With the lock: @at was taken off the queue, by a thread that will run it or because it is over. */
	void (*taken)(struct list *at);
	/* Without: goes on with it. */
	void (*run)(struct list *at);
};

struct runners {
	/*
	 * Borrowed: the lock of all parked calls, whatever they wait for, so that an interrupted one can
	 * leave whichever list it is on.
	 */
	struct mutex *lock;
	const struct runner_kind *kind;
	struct user_queues waiting; /* guarded by @lock */
	pthread_cond_t wake;
	bool stopping; /* guarded by @lock: no call may be parked any more */
	unsigned n_threads;
	pthread_t threads[RUNNERS_MAX];
	atomic_uint held; /* FUSE threads that compute for longer than one lookup takes */
};

void runners_init(struct runners *runners, struct mutex *lock, const struct runner_kind *kind);
void runners_deinit(struct runners *runners);

/* 0 or a negative errno. */
int runners_start(struct runners *runners);

/* With the lock: tells the threads to end and moves what waits for them to @woken. */
void runners_stop(struct runners *runners, struct list *woken);

/* Waits for them. Without the lock. */
void runners_join(struct runners *runners);

/* With the lock: queues @at, of @uid: 0, or -ENOTCONN when it is over. */
int runners_add(struct runners *runners, uid_t uid, struct list *at);

/*
 * Without the lock: whether a FUSE thread may compute, since few others do. It ends with runners_release().
 */
bool runners_hold(struct runners *runners);
void runners_release(struct runners *runners);

#endif
