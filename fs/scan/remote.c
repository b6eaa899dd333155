#include "fs/scan/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "work/os/thread.h"
#include "work/run/identifier.h"
#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/scan/sweep.h"

enum {
	/* Shorter ones may be the beginning of another: MD5 and UUID are the shortest that are not. */
	ID_DIGITS_MIN = 32,
	/* How long servers may be silent, unless $DEBUGINFOD_TIMEOUT says so. */
	SILENCE_SECONDS = 10,
	/* For how long a fault of this machine is remembered. */
	FAULT_SECONDS = 10,
	/* Users whose shares an id may be asked for in. */
	JOB_USERS_MAX = 8,
};

struct remote_job {
	struct list link;
	struct list waiters;
	uid_t users[JOB_USERS_MAX]; /* of the first calls, each once */
	unsigned n_users;
	uid_t uid; /* of the first call; while it runs, of the one in whose share it runs */
	bool running;
	char id[ID_TEXT_SIZE];
};

void remote_deinit(struct remote *r)
{
	for (size_t i = 0; i < r->files.n; i++)
		free(r->files.v[i].path);
	vec_free(&r->files);
	free(r->refused);
	pthread_cond_destroy(&r->wake);
}

/* ---- What cannot be had ---- */

static struct remote_refused *refused_at(struct remote *r, uint64_t hash) REQUIRES(&r->images->lock)
{
	return &r->refused[hash % REMOTE_REFUSED_MAX];
}

static uint64_t hash_of(const char *id)
{
	uint64_t hash = XXH3_64bits(id, strlen(id));
	return hash ? hash : 1;
}

/* 0: it may be asked for. */
static int refusal(struct remote *r, const char *id) REQUIRES(&r->images->lock)
{
	uint64_t hash = hash_of(id);
	const struct remote_refused *refused = refused_at(r, hash);
	return refused->id == hash && time(NULL) < refused->until ? refused->err : 0;
}

static void refuse(struct remote *r, const char *id, int err, int64_t until) REQUIRES(&r->images->lock)
{
	uint64_t hash = hash_of(id);
	*refused_at(r, hash) = (struct remote_refused){hash, until, err};
}

/* ---- Calls ---- */

static bool is_whole(const char *id)
{
	size_t n = strlen(id);
	return n >= ID_DIGITS_MIN && n <= 2 * IMAGE_ID_MAX && n % 2 == 0 &&
	       strspn(id, "0123456789abcdef") == n;
}

static struct remote_job *find_job(struct remote *r, const char *id) REQUIRES(&r->images->lock)
{
	LIST_EACH(struct remote_job, job, &r->jobs)
		if (strcmp(job->id, id) == 0)
			return job;
	return NULL;
}

static bool is_in_source(struct remote *r, const char *id) REQUIRES(&r->images->lock)
{
	struct request request = {.kind = REQUEST_ID};
	struct image *image;
	struct wait wait;
	strcpy(request.id, id);
	return images_lookup(r->images, &request, &image, &wait) == 0;
}

/* It has come to SOURCE while servers were asked: their answer is not needed any more. See images.found. */
static void wake_found(void *finder, const char *id, struct list *woken)
{
	struct remote *r = finder;
	mutex_assert_held(&r->images->lock);
	LIST_EACH(struct remote_job, job, &r->jobs)
		if (id ? strcmp(job->id, id) == 0 : is_in_source(r, job->id))
			calls_wake_all(&job->waiters, woken);
}

void remote_init(struct remote *r)
{
	list_init(&r->jobs);
	pthread_cond_init(&r->wake, NULL);
	r->images->found = wake_found;
	r->images->finder = r;
}

static void free_job(struct remote *r, struct remote_job *job) REQUIRES(&r->images->lock)
{
	list_remove(&job->link);
	r->n_jobs--;
	free(job);
}

/* Their calls were interrupted before a thread began with them. */
static void drop_abandoned_jobs(struct remote *r) REQUIRES(&r->images->lock)
{
	LIST_EACH(struct remote_job, job, &r->jobs)
		if (!job->running && list_empty(&job->waiters))
			free_job(r, job);
}

/* One user may have half of what the others leave, so that the next one finds room. */
static bool has_room(struct remote *r, uid_t uid) REQUIRES(&r->images->lock)
{
	size_t own = 0;
	LIST_EACH(struct remote_job, job, &r->jobs)
		own += job->uid == uid;
	return own < (REMOTE_JOBS_MAX - (r->n_jobs - own)) / 2;
}

static struct remote_job *add_job(struct remote *r, const struct call *call) REQUIRES(&r->images->lock)
{
	uid_t uid = fuse_req_ctx(call->req)->uid;
	if (!has_room(r, uid))
		drop_abandoned_jobs(r);
	struct remote_job *job = has_room(r, uid) ? malloc(sizeof(*job)) : NULL;
	if (!job)
		return NULL;
	*job = (struct remote_job){.uid = uid};
	strcpy(job->id, call->wait.id);
	list_init(&job->waiters);
	list_append(&r->jobs, &job->link);
	r->n_jobs++;
	return job;
}

static unsigned running_of(struct remote *r, uid_t uid) REQUIRES(&r->images->lock)
{
	unsigned n = 0;
	LIST_EACH(struct remote_job, job, &r->jobs) {
		if (!job->running)
			break;
		n += job->uid == uid;
	}
	return n;
}

int64_t remote_oldest(const struct remote *r, int64_t at)
{
	LIST_EACH(struct remote_job, job, &r->jobs)
		at = calls_oldest(&job->waiters, at);
	return at;
}

static void add_waiter(struct remote *r, struct remote_job *job, struct call *call) REQUIRES(&r->images->lock)
{
	uid_t uid = fuse_req_ctx(call->req)->uid;
	unsigned i = 0;
	while (i < job->n_users && job->users[i] != uid)
		i++;
	if (i == job->n_users && i < JOB_USERS_MAX)
		job->users[job->n_users++] = uid;
	list_append(&job->waiters, &call->link);
	if (!job->running && running_of(r, uid) < REMOTE_PER_USER)
		pthread_cond_signal(&r->wake);
}

/* See struct wait. */
static int park(void *object, struct call *call)
{
	struct remote *r = object;
	mutex_assert_held(&r->images->lock);
	const struct image *image = images_find(r->images, call->wait.id);
	if (r->stopping)
		return -ENOTCONN;
	if (refusal(r, call->wait.id) || (image && image_is_there(image)))
		return -EAGAIN;
	if (call->wait.findings != r->images->findings && is_in_source(r, call->wait.id))
		return -EAGAIN;
	if (++call->works > CALL_WORKS_MAX)
		return -EIO;
	struct remote_job *job = find_job(r, call->wait.id);
	if (!job)
		job = add_job(r, call);
	if (!job)
		return -EBUSY;
	add_waiter(r, job, call);
	return 0;
}

int remote_lookup(struct remote *r, const char *id, struct wait *ret_wait)
{
	int err = is_whole(id) && r->n_threads ? refusal(r, id) : -ENOENT;
	if (err)
		return err;
	*ret_wait = (struct wait){.park = park, .object = r, .findings = r->images->findings};
	strcpy(ret_wait->id, id);
	return -EAGAIN;
}

int remote_find_image(struct remote *r, struct images *images, const struct request *request,
		      struct image **ret, struct wait *ret_wait)
{
	int err = images_lookup(images, request, ret, ret_wait);
	if (err != -ENOENT || !r)
		return err;
	mutex_assert_held(&r->images->lock);
	return remote_lookup(r, request->id, ret_wait);
}

bool remote_asks(const struct remote *r)
{
	return r && r->n_threads;
}

/* ---- One file ---- */

/* Why an id cannot be had, and until when; or 0. */
struct answer {
	int err;
	int64_t until;
};

static struct answer fault(int err)
{
	return (struct answer){err, time(NULL) + FAULT_SECONDS};
}

/* The image with that id in the open file, or NULL. */
static const struct image_identity *pick(const struct identified *found, const char *id)
{
	char text[ID_TEXT_SIZE];
	for (size_t i = 0; i < found->n; i++) {
		id_format(&found->images[i], text);
		if (!found->images[i].id_is_truncated && strcmp(text, id) == 0)
			return &found->images[i];
	}
	return NULL;
}

static int add_image(struct remote *r, const struct stat *st, const struct image_identity *identity,
		     const char *id, const char *path)
{
	const struct file_key key = file_key_of(st);
	struct finding finding = {
		.id = id,
		.source =
			{
				.path = (char *)path, /* borrowed */
				.dev = key.dev,
				.ino = key.ino,
				.size = key.size,
				.mtime_ns = key.mtime_ns,
				.ctime_ns = key.ctime_ns,
				.uid = st->st_uid,
				.gid = st->st_gid,
				.mode = 0444, /* servers have it for everyone */
				.richness = richness_of(identity),
				.has_text = identity->has_text,
				.kind = identity->kind,
				.fetched = true,
				.root = UINT8_MAX,
			},
		.alone = true,
	};
	memcpy(finding.source.arch, identity->arch, sizeof(finding.source.arch));
	struct list woken;
	list_init(&woken);
	int err = images_add(r->images, &finding, &woken);
	calls_resume(&woken);
	return err;
}

/* The oldest one makes room. */
static void note_file(struct remote *r, const struct stat *st, const char *id, const char *path)
{
	struct remote_file file = {.path = strdup(path), .dev = st->st_dev, .ino = st->st_ino};
	char oldest[ID_TEXT_SIZE] = "";
	strcpy(file.id, id);
	mutex_lock(&r->images->lock);
	if (r->files.n >= REMOTE_FILES_MAX) {
		strcpy(oldest, r->files.v[0].id);
		free(r->files.v[0].path);
		memmove(r->files.v, r->files.v + 1, --r->files.n * sizeof(*r->files.v));
	}
	bool noted = file.path && vec_push(&r->files, file) == 0;
	mutex_unlock(&r->images->lock);
	if (*oldest)
		images_drop_fetched(r->images, oldest);
	if (noted)
		return;
	free(file.path);
	images_drop_fetched(r->images, id);
}

static struct answer take_file(struct remote *r, const char *id, const struct fetched *file)
{
	struct identifier identifier = {.worker = r->worker, .stop_fd = r->stop_fd};
	struct identified found = {.fault = FAULT_MACHINE};
	struct gsym_diag diag = {""};
	struct stat st;
	if (fstat(file->fd, &st))
		return fault(-EIO);
	int err = identify(&identifier, file->fd, (uint64_t)st.st_size, 0, &found, &diag);
	identifier_stop(&identifier);
	const struct image_identity *identity = err ? NULL : pick(&found, id);
	if (!identity) {
		log_warning(r->log, "debuginfod: %s: %s", file->path,
			    err ? diag.text : "it has another build id");
		return fault(-EIO);
	}
	err = add_image(r, &st, identity, id, file->path);
	if (err)
		return fault(err);
	note_file(r, &st, id, file->path);
	return (struct answer){.err = 0};
}

static struct answer fetch(struct remote *r, const char *id)
{
	uint8_t bytes[IMAGE_ID_MAX];
	struct fetched file;
	fetcher_get(r->fetcher, bytes, id_parse(id, bytes), SILENCE_SECONDS, &file);
	if (file.fd < 0)
		return (struct answer){fetch_failed(file.fd) ? fetch_errno(file.fd) : -ENOENT, file.again};
	struct answer answer = take_file(r, id, &file);
	close(file.fd);
	return answer;
}

/* ---- Threads ---- */

/* Lets the job run in the share of a user who waits for it and for whom less than @most are running. */
static bool take_share(struct remote *r, struct remote_job *job, unsigned most) REQUIRES(&r->images->lock)
{
	for (unsigned i = 0; i < job->n_users; i++) {
		if (running_of(r, job->users[i]) >= most)
			continue;
		job->uid = job->users[i];
		return true;
	}
	return false;
}

/*
 * The oldest one of a user for whom none is running; else of one for whom not enough are. Those that no call
 * waits for are dropped.
 */
static struct remote_job *next_job(struct remote *r) REQUIRES(&r->images->lock)
{
	drop_abandoned_jobs(r);
	for (unsigned most = 1; most <= REMOTE_PER_USER; most++) {
		LIST_EACH(struct remote_job, job, &r->jobs)
			if (!job->running && take_share(r, job, most))
				return job;
	}
	return NULL;
}

static void do_job(struct remote *r, struct remote_job *job) REQUIRES(&r->images->lock)
{
	struct list woken;
	list_init(&woken);
	job->running = true;
	list_remove(&job->link);
	list_append(r->jobs.next, &job->link); /* before the first one */
	mutex_unlock(&r->images->lock);
	const struct answer answer = fetch(r, job->id);
	mutex_lock(&r->images->lock);
	if (answer.err)
		refuse(r, job->id, answer.err, answer.until);
	calls_wake_all(&job->waiters, &woken);
	free_job(r, job);
	pthread_cond_signal(&r->wake); /* another one of this user may begin */
	mutex_unlock(&r->images->lock);
	calls_resume(&woken);
	mutex_lock(&r->images->lock);
}

static void *run(void *arg)
{
	struct remote *r = arg;
	mutex_lock(&r->images->lock);
	while (!r->stopping) {
		struct remote_job *job = next_job(r);
		if (job)
			do_job(r, job);
		else
			mutex_wait(&r->images->lock, &r->wake);
	}
	mutex_unlock(&r->images->lock);
	return NULL;
}

int remote_start(struct remote *r)
{
	if (!r->fetcher->servers)
		return 0;
	r->refused = calloc(REMOTE_REFUSED_MAX, sizeof(*r->refused));
	int err = r->refused ? 0 : -ENOMEM;
	while (r->n_threads < REMOTE_THREADS && !err) {
		err = thread_start(&r->threads[r->n_threads], "remote", run, r);
		r->n_threads += !err;
	}
	return err;
}

void remote_stop(struct remote *r, struct list *woken)
{
	r->stopping = true;
	pthread_cond_broadcast(&r->wake);
	LIST_EACH(struct remote_job, job, &r->jobs)
		calls_wake_all(&job->waiters, woken);
}

void remote_join(struct remote *r)
{
	for (; r->n_threads; r->n_threads--)
		pthread_join(r->threads[r->n_threads - 1], NULL);
	mutex_lock(&r->images->lock); /* a scan may still find images */
	for (struct list *at; (at = list_take(&r->jobs));)
		free(LIST_ENTRY(at, struct remote_job));
	mutex_unlock(&r->images->lock);
}

/* ---- Files that are gone ---- */

/* Copies file @number: false when there are no more. */
static bool get_file(struct remote *r, size_t number, struct remote_file *ret)
{
	mutex_lock(&r->images->lock);
	bool any = number < r->files.n;
	if (any) {
		*ret = r->files.v[number];
		ret->path = strdup(ret->path);
	}
	mutex_unlock(&r->images->lock);
	return any;
}

static void forget_file(struct remote *r, size_t number, const struct remote_file *file)
{
	mutex_lock(&r->images->lock);
	bool same = number < r->files.n && strcmp(r->files.v[number].id, file->id) == 0;
	if (same) {
		free(r->files.v[number].path);
		memmove(r->files.v + number, r->files.v + number + 1,
			(--r->files.n - number) * sizeof(*r->files.v));
	}
	mutex_unlock(&r->images->lock);
	if (same)
		images_drop_fetched(r->images, file->id);
}

void remote_recheck(struct remote *r)
{
	struct remote_file file;
	for (size_t i = 0; get_file(r, i, &file); i++) {
		struct stat st;
		bool gone = file.path &&
			    (lstat(file.path, &st) || st.st_dev != file.dev || st.st_ino != file.ino);
		if (gone)
			forget_file(r, i--, &file);
		free(file.path);
	}
}
