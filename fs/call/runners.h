/*
 * runners.h - answers that take longer than a thread that serves requests may be held.
 *
 * FUSE threads are few, and while all of them compute, the stat of somebody else waits. So a call that has
 * computed for some milliseconds is handed to other threads, which go on for a slice of time, and then take
 * the next one: in turn those of each user, so that who has a thousand of them does not keep others waiting.
 * Calls that waited for an image go on here, too.
 *
 * All functions with images.lock, but for those that begin and end everything.
 */
#ifndef FS_CALL_RUNNERS_H
#define FS_CALL_RUNNERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "fs/sys/lanes.h"

struct call;
struct images;
struct stream;

enum { RUNNERS_MAX = 8 };

struct runners {
	struct images *images; /* borrowed; its lock guards the lists below */
	struct lanes calls;
	struct list streams; /* for which calls have waited */
	pthread_cond_t wake;
	bool stopping;
	unsigned n_threads;
	pthread_t threads[RUNNERS_MAX];
	atomic_uint held; /* FUSE threads that compute for longer than one lookup takes */
};

void runners_init(struct runners *runners, struct images *images);
void runners_deinit(struct runners *runners);

/* 0 or a negative errno. */
int runners_start(struct runners *runners);

/* Tells the threads to end and moves all calls to @woken. */
void runners_stop(struct runners *runners, struct list *woken);

/* Waits for them. Without the lock. */
void runners_join(struct runners *runners);

/* Queues a call: 0, or -ENOTCONN when it is over. */
int runners_add(struct runners *runners, struct call *call);

/* Queues a call until the one that uses wait.stream is done: 0; -EAGAIN when nobody uses it any more. */
int runners_wait_turn(struct runners *runners, struct call *call);

/* The next call that waits for @stream goes on. */
void runners_pass_turn(struct runners *runners, struct stream *stream);

/*
 * Without the lock: whether a FUSE thread may compute, since few others do. It ends with runners_release().
 */
bool runners_hold(struct runners *runners);
void runners_release(struct runners *runners);

#endif
