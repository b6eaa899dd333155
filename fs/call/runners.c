#include "fs/call/runners.h"

#include <errno.h>

#include "gsym/base/parallel.h"
#include "fs/call/call.h"
#include "fs/images/images.h"
#include "fs/answer/stream.h"
#include "convert/os/thread.h"

enum {
	THREADS_MIN = 2, /* one that is held by a function of millions of lines does not stop all others */
	HELD_MAX = 2,
};

void runners_init(struct runners *runners, struct images *images)
{
	*runners = (struct runners){.images = images};
	lanes_init(&runners->calls);
	list_init(&runners->streams);
	pthread_cond_init(&runners->wake, NULL);
}

void runners_deinit(struct runners *runners)
{
	lanes_deinit(&runners->calls);
	pthread_cond_destroy(&runners->wake);
}

static uid_t user_of(const struct call *call)
{
	return fuse_req_ctx(call->req)->uid;
}

int runners_add(struct runners *runners, struct call *call)
{
	if (runners->stopping)
		return -ENOTCONN;
	lanes_add(&runners->calls, user_of(call), &call->link, false);
	pthread_cond_signal(&runners->wake);
	return 0;
}

bool runners_hold(struct runners *runners)
{
	bool few = atomic_fetch_add(&runners->held, 1) < HELD_MAX;
	if (!few)
		runners_release(runners);
	return few;
}

void runners_release(struct runners *runners)
{
	atomic_fetch_sub(&runners->held, 1);
}

/* ---- Streams are used by one call at a time ---- */

int runners_wait_turn(struct runners *runners, struct call *call)
{
	struct stream *stream = call->wait.stream;
	if (runners->stopping)
		return -ENOTCONN;
	if (!stream_want_turn(stream))
		return -EAGAIN;
	if (list_empty(&stream->link))
		list_append(&runners->streams, &stream->link);
	list_append(&stream->waiting, &call->link);
	return 0;
}

void runners_pass_turn(struct runners *runners, struct stream *stream)
{
	struct list woken;
	list_init(&woken);
	calls_wake_first(&stream->waiting, &woken);
	if (list_empty(&stream->waiting))
		list_remove(&stream->link);
	else
		stream_still_wanted(stream);
	struct list *at = list_take(&woken);
	if (!at)
		return;
	struct call *call = LIST_ENTRY(at, struct call);
	call->turn = stream;
	call->state = CALL_PARKED;
	runners_add(runners, call); /* it did wait, so it is not over */
}

/* ---- Threads ---- */

/* The next call; NULL when it is over. */
static struct call *next(struct runners *runners)
{
	struct list *at = NULL;
	pthread_mutex_lock(&runners->images->lock);
	while (!runners->stopping && !(at = lanes_take(&runners->calls)))
		pthread_cond_wait(&runners->wake, &runners->images->lock);
	struct call *call = at ? LIST_ENTRY(at, struct call) : NULL;
	if (call) {
		call->state = CALL_TAKEN;
		call->turn = NULL;
	}
	pthread_mutex_unlock(&runners->images->lock);
	return call;
}

static void *go_on(void *arg)
{
	struct call *call;
	while ((call = next(arg)))
		call_go_on(call);
	return NULL;
}

int runners_start(struct runners *runners)
{
	unsigned cpus = parallel_cpus(), n = cpus < THREADS_MIN ? THREADS_MIN : cpus;
	int err = 0;
	for (unsigned i = 0; i < n && i < RUNNERS_MAX && !err; i++) {
		err = thread_start(&runners->threads[i], "run", go_on, runners);
		if (!err)
			runners->n_threads++;
	}
	return runners->n_threads ? 0 : err;
}

/* Moves the calls at @at, taken off their list, to @woken. */
static void wake(struct list *at, struct list *woken)
{
	LIST_ENTRY(at, struct call)->state = CALL_TAKEN;
	list_append(woken, at);
}

void runners_stop(struct runners *runners, struct list *woken)
{
	runners->stopping = true;
	pthread_cond_broadcast(&runners->wake);
	for (struct list *at; (at = lanes_take(&runners->calls));)
		wake(at, woken);
	for (struct list *at; (at = list_take(&runners->streams));)
		calls_wake_all(&LIST_ENTRY(at, struct stream)->waiting, woken);
}

void runners_join(struct runners *runners)
{
	for (unsigned i = 0; i < runners->n_threads; i++)
		pthread_join(runners->threads[i], NULL);
	runners->n_threads = 0;
}
