#include "fs/call/runners.h"

#include <errno.h>

#include "gsym/base/parallel.h"
#include "work/os/thread.h"

enum {
	THREADS_MIN = 2, /* one that is held by a function of millions of lines does not stop all others */
	HELD_MAX = 2,
};

void runners_init(struct runners *runners, struct mutex *lock, const struct runner_kind *kind,
		  struct readers *readers)
{
	*runners = (struct runners){.lock = lock, .kind = kind, .readers = readers};
	user_queues_init(&runners->waiting);
	pthread_cond_init(&runners->wake, NULL);
}

void runners_deinit(struct runners *runners)
{
	user_queues_deinit(&runners->waiting);
	pthread_cond_destroy(&runners->wake);
}

int runners_add(struct runners *runners, uid_t uid, struct list *at)
{
	mutex_assert_held(runners->lock);
	if (runners->stopping)
		return -ENOTCONN;
	user_queues_add(&runners->waiting, uid, at, false);
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

/* ---- Threads ---- */

/* The next of those that wait; NULL when it is over. */
static struct list *next(struct runners *runners)
{
	struct list *at = NULL;
	mutex_lock(runners->lock);
	while (!runners->stopping && !(at = user_queues_take(&runners->waiting)))
		mutex_wait(runners->lock, &runners->wake);
	if (at)
		runners->kind->taken(at);
	mutex_unlock(runners->lock);
	return at;
}

static void *run(void *arg)
{
	struct runners *runners = arg;
	struct list *at;
	while ((at = next(runners))) {
		unsigned inside = readers_enter(runners->readers);
		runners->kind->run(at);
		readers_leave(runners->readers, inside);
	}
	return NULL;
}

int runners_start(struct runners *runners)
{
	unsigned cpus = parallel_cpus(), n = cpus < THREADS_MIN ? THREADS_MIN : cpus;
	int err = 0;
	for (unsigned i = 0; i < n && i < RUNNERS_MAX && !err; i++) {
		err = thread_start(&runners->threads[i], "run", run, runners);
		if (!err)
			runners->n_threads++;
	}
	return runners->n_threads ? 0 : err;
}

void runners_stop(struct runners *runners, struct list *woken)
{
	mutex_assert_held(runners->lock);
	runners->stopping = true;
	pthread_cond_broadcast(&runners->wake);
	for (struct list *at; (at = user_queues_take(&runners->waiting));) {
		runners->kind->taken(at);
		list_append(woken, at);
	}
}

void runners_join(struct runners *runners)
{
	for (unsigned i = 0; i < runners->n_threads; i++)
		pthread_join(runners->threads[i], NULL);
	runners->n_threads = 0;
}
