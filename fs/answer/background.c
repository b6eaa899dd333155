#include "fs/answer/background.h"

#include <errno.h>
#include <stdlib.h>

#include "work/os/monotonic.h"
#include "work/os/thread.h"
#include "fs/call/call.h"
#include "fs/images/revision.h"
#include "fs/sys/slice.h"
#include "gsym/base/invariant.h"

enum {
	BEGUN_MAX = 8,     /* jobs at a time: each has its image open */
	TIDY_SECONDS = 10, /* between calls of tidy() */
};

/* A part of an image to be computed, and the calls that wait for it. */
struct job {
	struct table_link table;
	struct list link; /* in background.waiting, unless the thread is working on it */
	struct revision *rev;
	unsigned part;
	uid_t uid; /* of the first call */
	struct list waiters;
	void *state; /* from job_kind.begin(); NULL before it has begun */
};

void background_init(struct background *background)
{
	user_queues_init(&background->waiting);
	monotonic_cond_init(&background->wake);
}

static void job_free(struct background *background, struct job *job) REQUIRES(&background->images->lock)
{
	table_remove(&background->all, &job->table);
	if (job->state) {
		background->n_begun--;
		background->kind->free(job->state);
	}
	revision_unpin(job->rev);
	free(job);
}

void background_deinit(struct background *background)
{
	mutex_lock(&background->images->lock);
	for (struct list *at; (at = user_queues_take(&background->waiting));)
		job_free(background, LIST_ENTRY(at, struct job));
	invariant(!background->all.n && !background->n_begun);
	user_queues_deinit(&background->waiting);
	table_deinit(&background->all);
	mutex_unlock(&background->images->lock);
	pthread_cond_destroy(&background->wake);
}

/* ---- Requests ---- */

static uint64_t hash_of(const struct revision *rev, unsigned part)
{
	uint64_t mixed = ((uint64_t)rev->number << 8 | part) * 0x9e3779b97f4a7c15ULL;
	return mixed ^ mixed >> 32;
}

static struct job *find(const struct background *background, const struct revision *rev, unsigned part)
	REQUIRES(&background->images->lock)
{
	return TABLE_FIND(struct job, job, &background->all, hash_of(rev, part),
			  job->rev == rev && job->part == part);
}

static struct job *add(struct background *background, const struct call *call)
	REQUIRES(&background->images->lock)
{
	struct job *job = malloc(sizeof(*job));
	if (!job)
		return NULL;
	*job = (struct job){
		.rev = call->wait.revision,
		.part = call->wait.part,
		.uid = fuse_req_ctx(call->req)->uid,
	};
	list_init(&job->waiters);
	if (table_add(&background->all, &job->table, hash_of(job->rev, job->part))) {
		free(job);
		return NULL;
	}
	revision_pin(job->rev);
	user_queues_add(&background->waiting, job->uid, &job->link, false);
	pthread_cond_signal(&background->wake);
	return job;
}

/* See struct wait. */
static int park(void *object, struct call *call)
{
	struct background *background = object;
	mutex_assert_held(&background->images->lock);
	if (++call->works > CALL_WORKS_MAX)
		return -EIO;
	struct job *job = find(background, call->wait.revision, call->wait.part);
	if (!job)
		job = add(background, call);
	if (!job)
		return -ENOMEM;
	list_append(&job->waiters, &call->link);
	return 0;
}

int background_await(struct background *background, struct revision *rev, unsigned part,
		     struct wait *ret_wait)
{
	*ret_wait = (struct wait){
		.park = park, .object = background, .revision = rev, .number = rev->number, .part = part};
	return -EAGAIN;
}

size_t background_count(const struct background *background)
{
	mutex_assert_held(&background->images->lock);
	return background->all.n;
}

/* ---- The thread ---- */

/* Waits for a job, or until it is time to tidy up. */
static void wait_for_jobs(struct background *background) REQUIRES(&background->images->lock)
{
	struct timespec until;
	if (background->stopping || user_queues_any(&background->waiting))
		return;
	if (!background->tidy) {
		mutex_wait(&background->images->lock, &background->wake);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += TIDY_SECONDS;
	mutex_wait_until(&background->images->lock, &background->wake, &until);
}

/* The next job that a call waits for, or NULL. */
static struct job *next(struct background *background) REQUIRES(&background->images->lock)
{
	for (struct list *at; !background->stopping && (at = user_queues_take(&background->waiting));) {
		struct job *job = LIST_ENTRY(at, struct job);
		if (!list_empty(&job->waiters))
			return job;
		job_free(background, job);
	}
	return NULL;
}

/* As job_kind.go_on(). */
static int run_slice(struct background *background, struct job *job)
{
	const struct job_kind *kind = background->kind;
	if (!job->state) {
		job->state = kind->begin(background->user, job->rev, job->part);
		if (!job->state)
			return 0;
		background->n_begun++;
	}
	return kind->go_on(job->state, time_after(WORK_SLICE_MS));
}

/* Queues a job again that is not done, or wakes its calls. */
static void finish(struct background *background, struct job *job, int err, struct list *woken)
	REQUIRES(&background->images->lock)
{
	if (err == -EAGAIN) {
		/* When many have begun, they are finished before others begin. */
		user_queues_add(&background->waiting, job->uid, &job->link, background->n_begun >= BEGUN_MAX);
		return;
	}
	calls_wake_all(&job->waiters, woken);
	job_free(background, job);
}

static void *run(void *arg)
{
	struct background *background = arg;
	int64_t tidied = time_now();
	mutex_lock(&background->images->lock);
	while (!background->stopping) {
		struct list woken;
		int err = 0;
		list_init(&woken);
		wait_for_jobs(background);
		struct job *job = next(background);
		mutex_unlock(&background->images->lock);
		if (job)
			err = run_slice(background, job);
		if (background->tidy && time_now() - tidied > TIDY_SECONDS * INT64_C(1000000000)) {
			background->tidy(background->tidy_user);
			tidied = time_now();
		}
		mutex_lock(&background->images->lock);
		if (job)
			finish(background, job, err, &woken);
		if (list_empty(&woken))
			continue;
		mutex_unlock(&background->images->lock);
		if (err)
			calls_fail(&woken, err, err == -ENOMEM);
		else
			calls_resume(&woken);
		mutex_lock(&background->images->lock);
	}
	mutex_unlock(&background->images->lock);
	return NULL;
}

int background_start(struct background *background)
{
	int err = thread_start(&background->thread, background->kind->thread, run, background);
	background->running = !err;
	return err;
}

void background_stop(struct background *background, struct list *woken)
{
	mutex_assert_held(&background->images->lock);
	background->stopping = true;
	pthread_cond_broadcast(&background->wake);
	TABLE_EACH(struct job, job, &background->all)
		calls_wake_all(&job->waiters, woken);
}

void background_join(struct background *background)
{
	if (background->running)
		pthread_join(background->thread, NULL);
	background->running = false;
}
