#include "fs/scan/hash_lane.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "work/os/beneath.h"
#include "work/os/thread.h"
#include "gsym/base/diag.h"

enum {
	REPORT_MS = 10000, /* between walks that take results while others are to come */
	REST_MS = 10000,   /* after a fault of the machine, of which the next walk brings the file again */
};

void hash_lane_init(struct hash_lane *lane) NOT_ANALYZED
{
	mutex_init(&lane->lock, LOCK_HASH_LANE);
	pthread_cond_init(&lane->wake, NULL);
	list_init(&lane->jobs);
	list_init(&lane->done);
}

void hash_job_free(struct hash_job *job)
{
	if (!job)
		return;
	free(job->path);
	free(job->reason);
	free(job->images);
	free(job);
}

static void free_jobs(struct list *jobs)
{
	for (struct list *at; (at = list_take(jobs));)
		hash_job_free(LIST_ENTRY(at, struct hash_job));
}

void hash_lane_deinit(struct hash_lane *lane) NOT_ANALYZED
{
	free_jobs(&lane->jobs);
	free_jobs(&lane->done);
	pthread_cond_destroy(&lane->wake);
	mutex_destroy(&lane->lock);
}

int hash_lane_add(struct hash_lane *lane, const char *path, const struct file_key *key, uint64_t to_hash)
{
	struct hash_job *job = calloc(1, sizeof(*job));
	if (!job || !(job->path = strdup(path))) {
		hash_job_free(job);
		return -ENOMEM;
	}
	job->key = *key;
	job->to_hash = to_hash;
	mutex_lock(&lane->lock);
	list_append(&lane->jobs, &job->link);
	pthread_cond_signal(&lane->wake);
	mutex_unlock(&lane->lock);
	return 0;
}

struct hash_job *hash_lane_take(struct hash_lane *lane)
{
	mutex_lock(&lane->lock);
	struct list *at = list_take(&lane->done);
	mutex_unlock(&lane->lock);
	return at ? LIST_ENTRY(at, struct hash_job) : NULL;
}

/* ---- The thread ---- */

static struct hash_job *take_smallest(struct hash_lane *lane) REQUIRES(&lane->lock)
{
	struct hash_job *least = NULL;
	LIST_EACH(struct hash_job, job, &lane->jobs)
		if (!least || job->to_hash < least->to_hash)
			least = job;
	list_remove(&least->link);
	return least;
}

/* NULL when it is time to stop. */
static struct hash_job *next_job(struct hash_lane *lane)
{
	struct hash_job *job = NULL;
	mutex_lock(&lane->lock);
	while (!lane->stopping && list_empty(&lane->jobs))
		mutex_wait(&lane->lock, &lane->wake);
	if (!lane->stopping)
		job = take_smallest(lane);
	mutex_unlock(&lane->lock);
	return job;
}

/* The file as it was added; what it may have become instead is for the next walk. */
static int open_job(int root, const struct hash_job *job, struct gsym_diag *diag)
{
	struct stat st;
	int fd = open_beneath(root, job->path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return diag_set(diag, fd, "cannot open: %s", strerror(-fd));
	int err = fstat(fd, &st) ? -errno : 0;
	const struct file_key key = file_key_of(&st);
	if (!err && !file_key_same(&key, &job->key))
		err = -ESTALE;
	if (!err)
		return fd;
	close(fd);
	return diag_set(diag, err, "cannot stat: %s", strerror(-err));
}

static int identify_file(const struct hash_lane *lane, struct identifier *identifier,
			 const struct hash_job *job, struct identified *ret, struct gsym_diag *diag)
{
	*ret = (struct identified){.fault = FAULT_MACHINE};
	int root = open(lane->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return diag_set(diag, -errno, "cannot open the source: %s", strerror(errno));
	int fd = open_job(root, job, diag), err = fd;
	if (fd >= 0) {
		err = identify(identifier, fd, job->key.size, IMAGE_HASH_MAX, ret, diag);
		close(fd);
	}
	close(root);
	return err;
}

static int keep_images(struct hash_job *job, const struct identified *found)
{
	job->images = found->n ? calloc(found->n, sizeof(*job->images)) : NULL;
	if (found->n && !job->images)
		return -ENOMEM;
	for (size_t i = 0; i < found->n; i++)
		job->images[i] = found->images[i];
	job->n_images = found->n;
	return 0;
}

static void do_job(const struct hash_lane *lane, struct identifier *identifier, struct hash_job *job)
{
	struct gsym_diag diag = {""};
	struct identified found;
	job->err = identify_file(lane, identifier, job, &found, &diag);
	job->fault = found.fault;
	if (job->err)
		job->reason = strdup(diag.text);
	else if (keep_images(job, &found)) {
		job->err = -ENOMEM;
		job->fault = FAULT_MACHINE;
	} else if (*found.lost.text) {
		job->reason = strdup(found.lost.text);
	}
}

/* Whether that was the last job for now. */
static bool end_job(struct hash_lane *lane, struct hash_job *job)
{
	mutex_lock(&lane->lock);
	list_append(&lane->done, &job->link);
	bool last = list_empty(&lane->jobs);
	mutex_unlock(&lane->lock);
	return last;
}

static void rest(const struct hash_lane *lane)
{
	struct pollfd stop = {.fd = lane->stop_fd, .events = POLLIN};
	poll(&stop, 1, REST_MS);
}

static void *hash_files(void *arg)
{
	struct hash_lane *lane = arg;
	struct identifier identifier = {.worker = lane->worker, .stop_fd = lane->stop_fd};
	struct hash_job *job;
	int64_t reported = monotonic_ms();
	while ((job = next_job(lane))) {
		do_job(lane, &identifier, job);
		if (job->err && job->fault == FAULT_MACHINE && job->err != -ESTALE)
			rest(lane);
		bool last = end_job(lane, job);
		if (last)
			identifier_stop(&identifier);
		if (!last && monotonic_ms() < reported + REPORT_MS)
			continue;
		eventfd_write(lane->wake_fd, 1);
		reported = monotonic_ms();
	}
	identifier_stop(&identifier);
	return NULL;
}

int hash_lane_start(struct hash_lane *lane)
{
	int err = thread_start(&lane->thread, "hash", hash_files, lane);
	lane->running = !err;
	return err;
}

void hash_lane_stop(struct hash_lane *lane)
{
	if (!lane->running)
		return;
	mutex_lock(&lane->lock);
	lane->stopping = true;
	pthread_cond_signal(&lane->wake);
	mutex_unlock(&lane->lock);
	pthread_join(lane->thread, NULL);
	lane->running = false;
}
