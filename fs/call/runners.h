/*
 * runners.h - threads for answers that take longer than FUSE threads may be occupied.
 *
 * FUSE threads are few, and while all of them compute, no other request is served. So a call that has
 * computed for some milliseconds is handed over to runners, which time-slice such calls round robin between
 * users: a user with thousands of calls does not starve others. Calls that waited for an image continue here,
 * too.
 */
#ifndef FS_CALL_RUNNERS_H
#define FS_CALL_RUNNERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "work/os/mutex.h"
#include "fs/sys/readers.h"
#include "fs/sys/user_queues.h"

enum { RUNNERS_MAX = 8 };

/* What is queued. */
struct runner_kind {
	/* Called with the lock: @at was taken off the queue, to be run or at shutdown. */
	void (*taken)(struct list *at);
	/* Called without the lock: runs it. */
	void (*run)(struct list *at);
};

struct runners {
	/*
	 * Borrowed: the lock of all parked calls, whatever they wait for, so that an interrupted one can
	 * leave whichever list it is on.
	 */
	struct mutex *lock;
	const struct runner_kind *kind;
	struct readers *readers;    /* that its threads are inside of while they run something */
	struct user_queues waiting; /* guarded by @lock */
	pthread_cond_t wake;
	bool stopping; /* guarded by @lock: no call may be parked any more */
	unsigned n_threads;
	pthread_t threads[RUNNERS_MAX];
	atomic_uint held; /* FUSE threads that compute for longer than one lookup takes */
};

void runners_init(struct runners *runners, struct mutex *lock, const struct runner_kind *kind,
		  struct readers *readers);
void runners_deinit(struct runners *runners);

/* 0 or a negative errno. */
int runners_start(struct runners *runners);

/* Tells the threads to end and moves queued elements to @woken. The caller holds the lock. */
void runners_stop(struct runners *runners, struct list *woken);

/* Waits for them. Without the lock. */
void runners_join(struct runners *runners);

/* Queues @at for @uid. 0, or -ENOTCONN at shutdown. The caller holds the lock. */
int runners_add(struct runners *runners, uid_t uid, struct list *at);

/*
 * Without the lock: whether a FUSE thread may compute, since few others do. It ends with runners_release().
 */
bool runners_hold(struct runners *runners);
void runners_release(struct runners *runners);

#endif
