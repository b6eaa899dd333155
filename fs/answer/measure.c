#include "fs/answer/measure.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/gsymfs.h"
#include "fs/images/revision.h"
#include "fs/sys/slice.h"
#include "convert/os/thread.h"
#include "fs/answer/tsv_file.h"

enum {
	BEGUN_MAX = 8,     /* tables at a time: each has its image open */
	REST_SECONDS = 10, /* between two looks at what lies idle */
};

/* A table and who waits for it. */
struct job {
	struct table_link table;
	struct list link; /* in measure.tables, unless the thread is at it */
	struct revision *rev;
	enum listing_kind kind;
	uid_t uid; /* who asked first */
	struct list waiters;
	struct measuring *measuring; /* NULL before it has begun */
};

void measure_init(struct measure *measure, struct gsymfs *fs)
{
	pthread_condattr_t attr;
	*measure = (struct measure){.fs = fs};
	lanes_init(&measure->tables);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&measure->wake, &attr);
	pthread_condattr_destroy(&attr);
}

static void job_free(struct measure *measure, struct job *job)
{
	table_remove(&measure->all, &job->table);
	measure->n_begun -= job->measuring != NULL;
	measuring_free(job->measuring);
	free(job);
}

void measure_deinit(struct measure *measure)
{
	for (struct list *at; (at = lanes_take(&measure->tables));)
		job_free(measure, LIST_ENTRY(at, struct job));
	lanes_deinit(&measure->tables);
	table_deinit(&measure->all);
	pthread_cond_destroy(&measure->wake);
}

/* ---- Asking ---- */

static uint64_t hash_of(const struct revision *rev, enum listing_kind kind)
{
	uint64_t mixed = ((uint64_t)rev->number * LISTINGS + kind) * 0x9e3779b97f4a7c15ULL;
	return mixed ^ mixed >> 32;
}

static struct job *find(const struct measure *measure, const struct revision *rev, enum listing_kind kind)
{
	uint64_t hash = hash_of(rev, kind);
	for (struct table_link *l = table_first(&measure->all, hash); l; l = table_next(l, hash)) {
		struct job *job = TABLE_ENTRY(l, struct job);
		if (job->rev == rev && job->kind == kind)
			return job;
	}
	return NULL;
}

static struct job *add(struct measure *measure, const struct call *call)
{
	struct job *job = malloc(sizeof(*job));
	if (!job)
		return NULL;
	*job = (struct job){
		.rev = call->wait.revision,
		.kind = (enum listing_kind)call->wait.part,
		.uid = fuse_req_ctx(call->req)->uid,
	};
	list_init(&job->waiters);
	if (table_add(&measure->all, &job->table, hash_of(job->rev, job->kind))) {
		free(job);
		return NULL;
	}
	lanes_add(&measure->tables, job->uid, &job->link, false);
	pthread_cond_signal(&measure->wake);
	return job;
}

int measure_wait(struct measure *measure, struct call *call)
{
	struct job *job = find(measure, call->wait.revision, (enum listing_kind)call->wait.part);
	if (!job)
		job = add(measure, call);
	if (!job)
		return -ENOMEM;
	list_append(&job->waiters, &call->link);
	return 0;
}

size_t measure_count(const struct measure *measure)
{
	return measure->all.n;
}

/* ---- Measuring ---- */

/* Waits for something to do, or for some seconds. */
static void wait_for_jobs(struct measure *measure)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += REST_SECONDS;
	if (!measure->stopping && !lanes_any(&measure->tables))
		pthread_cond_timedwait(&measure->wake, &measure->fs->images.lock, &until);
}

/* The next one that somebody waits for, or NULL. */
static struct job *next(struct measure *measure)
{
	for (struct list *at; !measure->stopping && (at = lanes_take(&measure->tables));) {
		struct job *job = LIST_ENTRY(at, struct job);
		if (!list_empty(&job->waiters))
			return job;
		job_free(measure, job);
	}
	return NULL;
}

/* As measuring_go_on(); of an image that is not open the calls find out themselves, and wait if they must. */
static int work_at(struct measure *measure, struct job *job)
{
	if (!job->measuring) {
		job->measuring = measuring_new(measure->fs, job->rev, job->kind);
		if (!job->measuring)
			return 0;
		measure->n_begun++; /* this thread's alone */
	}
	return measuring_go_on(job->measuring, time_after(WORK_SLICE_MS));
}

/* Puts a job back that has more, or wakes its calls. */
static void finish(struct measure *measure, struct job *job, int err, struct list *woken)
{
	if (err == -EAGAIN) {
		/* When many have begun, those go on to their ends before others begin. */
		lanes_add(&measure->tables, job->uid, &job->link, measure->n_begun >= BEGUN_MAX);
		return;
	}
	calls_wake_all(&job->waiters, woken);
	job_free(measure, job);
}

static void *run(void *arg)
{
	struct measure *measure = arg;
	pthread_mutex_t *lock = &measure->fs->images.lock;
	int64_t rested = time_now();
	pthread_mutex_lock(lock);
	while (!measure->stopping) {
		struct list woken;
		int err = 0;
		list_init(&woken);
		wait_for_jobs(measure);
		struct job *job = next(measure);
		pthread_mutex_unlock(lock);
		if (job)
			err = work_at(measure, job);
		if (time_now() - rested > REST_SECONDS * INT64_C(1000000000)) {
			open_files_rest(&measure->fs->open_files);
			rested = time_now();
		}
		pthread_mutex_lock(lock);
		if (job)
			finish(measure, job, err, &woken);
		if (list_empty(&woken))
			continue;
		pthread_mutex_unlock(lock);
		if (err)
			calls_fail(&woken, err);
		else
			calls_resume(&woken);
		pthread_mutex_lock(lock);
	}
	pthread_mutex_unlock(lock);
	return NULL;
}

int measure_start(struct measure *measure)
{
	int err = thread_start(&measure->thread, "measure", run, measure);
	measure->running = !err;
	return err;
}

void measure_stop(struct measure *measure, struct list *woken)
{
	measure->stopping = true;
	pthread_cond_broadcast(&measure->wake);
	for (size_t i = 0; i < measure->all.n_buckets; i++)
		for (struct table_link *l = measure->all.buckets[i]; l; l = l->next)
			calls_wake_all(&TABLE_ENTRY(l, struct job)->waiters, woken);
}

void measure_join(struct measure *measure)
{
	if (measure->running)
		pthread_join(measure->thread, NULL);
	measure->running = false;
}
