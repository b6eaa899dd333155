/*
 * The thread works in rounds. A round lists the files that have no digest, by image, and takes one after the
 * other; before each, those of new revisions. What fails is left alone for a while, so that a round ends.
 *
 * It keeps its priority for the processor, unlike that for the disk: it takes locks that others wait for.
 */
#include "fs/scan/digest_lane.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "work/os/beneath.h"
#include "work/os/log.h"
#include "work/os/monotonic.h"
#include "work/os/thread.h"
#include "store/client/file_digest.h"
#include "fs/images/revision.h"
#include "fs/sys/metrics.h"

enum {
	BLOCK = 1 << 20, /* what file_digest() reads at once */
	CPU_SHARE = 4,   /* one part of so many of a processor */
	BATCH = 1024,    /* images looked at with the lock held */
	PAUSE_MS = 100,  /* between looks whether images are still converted */
	/* Until a file is tried again: one that has changed meanwhile, or that cannot be read. */
	SOON_MS = 10000,
	FAILED_MS = 3600000,
	FAULT_REST_MS = 10000, /* after one that cannot be read */
	/* A round is followed by a rest of so many times what it took to list the files. */
	REST_FACTOR = 50,
};

static const int64_t ns = 1000000000, ms = 1000000, never = INT64_MAX;
/* Larger ones, which may be sparse, would keep all others waiting for hours. */
static const uint64_t size_max = UINT64_C(64) << 30;

void digest_lane_init(struct digest_lane *lane)
{
	lane->wake_fd = -1;
}

void digest_lane_deinit(struct digest_lane *lane)
{
	if (lane->wake_fd >= 0)
		close(lane->wake_fd);
}

void digest_lane_wake(const struct digest_lane *lane)
{
	if (lane->wake_fd >= 0)
		(void)eventfd_write(lane->wake_fd, 1); /* it fails only if that was written already */
}

/* ---- Waiting ---- */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * ns + t.tv_nsec;
}

/* False when it is time to stop. */
static bool rest(const struct digest_lane *lane, int64_t duration)
{
	struct pollfd stop = {.fd = lane->stop_fd, .events = POLLIN};
	const struct timespec t = {duration / ns, duration % ns};
	return ppoll(&stop, 1, &t, NULL) <= 0;
}

/* Waits for a scan, or until @again. False when it is time to stop. */
static bool wait_for_files(const struct digest_lane *lane, int64_t again)
{
	struct pollfd fds[] = {{.fd = lane->stop_fd, .events = POLLIN},
			       {.fd = lane->wake_fd, .events = POLLIN}};
	int64_t left = again - monotonic_ms();
	eventfd_t count;
	poll(fds, 2, again == never || left > INT_MAX ? -1 : left < 0 ? 0 : (int)left);
	if (fds[0].revents)
		return false;
	(void)eventfd_read(lane->wake_fd, &count);
	return true;
}

/* ---- Pace ---- */

struct pace {
	int64_t due; /* when the next block may be read */
	int64_t cpu; /* time of the thread that was charged */
};

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* What was not done in time is not made up for. */
static void charge(const struct digest_lane *lane, struct pace *pace, uint64_t bytes)
{
	int64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int64_t cost = (int64_t)((double)bytes * (double)ns / (double)lane->rate);
	cost = larger(cost, (cpu - pace->cpu) * CPU_SHARE);
	pace->due = larger(pace->due + cost, clock_ns(CLOCK_MONOTONIC));
	pace->cpu = cpu;
}

/* Rests until the next block may be read. False when it is time to stop. */
static bool keep_pace(const struct digest_lane *lane, const struct pace *pace)
{
	return rest(lane, larger(pace->due - clock_ns(CLOCK_MONOTONIC), 0));
}

/* ---- Reading a file ---- */

struct file {
	char *path; /* below the source, or absolute; owned */
	bool fetched;
	struct file_key key;
};

struct reading {
	const struct digest_lane *lane;
	const struct file *file;
	struct pace *pace;
	int fd;
	uint64_t offset, block; /* how much was read before, and is being read */
	bool evict;             /* the block was not in the page cache, and need not stay there */
	bool changed;
};

static bool is_in_state(int fd, const struct file_key *key)
{
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	const struct file_key now = file_key_of(&st);
	return file_key_same(&now, key);
}

static void begin_block(struct reading *r)
{
	char byte;
	const struct iovec one = {&byte, 1};
	uint64_t left = r->file->key.size - r->offset;
	r->block = left < BLOCK ? left : BLOCK;
	r->evict = preadv2(r->fd, &one, 1, (off_t)r->offset, RWF_NOWAIT) < 0 && errno == EAGAIN;
}

static void end_block(struct reading *r)
{
	if (!r->block)
		return;
	metric_add(&r->lane->metrics->digest_bytes, r->block);
	if (r->evict)
		posix_fadvise(r->fd, (off_t)r->offset, (off_t)r->block, POSIX_FADV_DONTNEED);
	charge(r->lane, r->pace, r->block);
	r->offset += r->block;
	r->block = 0;
}

static bool may_read_on(void *user)
{
	struct reading *r = user;
	end_block(r);
	if (!keep_pace(r->lane, r->pace))
		return false;
	while (atomic_load(&r->lane->images->converting))
		if (!rest(r->lane, PAUSE_MS * ms))
			return false;
	r->changed = !is_in_state(r->fd, &r->file->key);
	if (!r->changed)
		begin_block(r);
	return !r->changed;
}

/* A descriptor, or a negative errno. */
static int open_file(const struct digest_lane *lane, const struct file *file)
{
	enum { FLAGS = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC };
	if (file->fetched) {
		int fd = open(file->path, FLAGS | O_NOFOLLOW);
		return fd < 0 ? -errno : fd;
	}
	int root = open(lane->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	int fd = open_beneath(root, file->path, FLAGS);
	close(root);
	return fd;
}

/* 0; -ESTALE: the file has changed; -ECANCELED: it is time to stop; or another negative errno. */
static int read_file(const struct digest_lane *lane, const struct file *file, struct pace *pace,
		     uint8_t ret[static STORE_DIGEST])
{
	struct reading r = {.lane = lane, .file = file, .pace = pace, .fd = open_file(lane, file)};
	if (r.fd < 0)
		return r.fd == -ENOENT || r.fd == -ENOTDIR || r.fd == -ELOOP ? -ESTALE : r.fd;
	posix_fadvise(r.fd, 0, 0, POSIX_FADV_RANDOM); /* no block is read ahead of its turn */
	int err = file_digest(r.fd, file->key.size, may_read_on, &r, ret);
	end_block(&r);
	if (r.changed || (!err && !is_in_state(r.fd, &file->key)))
		err = -ESTALE;
	close(r.fd);
	return err;
}

/* ---- Which files ---- */

struct todo {
	uint32_t image; /* number */
	uint8_t richness;
	bool binary;
};

struct round {
	const struct digest_lane *lane;
	struct pace pace;
	VEC(struct todo) todo;
	bool listed;       /* all images were looked at for them */
	size_t next;       /* of these */
	uint32_t revision; /* the number from which on they are looked at */
	size_t later;      /* files whose turn is not now */
	int64_t again;     /* when it is, of monotonic_ms() */
};

static const struct source *chosen(const struct image *image, bool binary)
{
	return binary ? image_binary(image) : image_source(image);
}

/* When to digest the file, which may be NULL, of monotonic_ms(). */
static int64_t due_of(const struct round *r, const struct source *source)
{
	if (!source || source->size > size_max)
		return never;
	const struct file_key key = source_key(source);
	return digests_due(&r->lane->images->digests, &key);
}

static void note_later(struct round *r, int64_t due)
{
	r->later++;
	if (due < r->again)
		r->again = due;
}

static int list_image(struct round *r, const struct image *image)
{
	for (unsigned binary = 0; binary < 2; binary++) {
		const struct source *source = chosen(image, binary);
		int64_t due = due_of(r, source);
		if (due == never)
			continue;
		const struct todo todo = {image->number, source->richness, binary};
		if (due > monotonic_ms())
			note_later(r, due);
		else if (vec_push(&r->todo, todo))
			return -ENOMEM;
	}
	return 0;
}

/* Of images from number *@at on, which becomes that of those that are left. False: none are. */
static bool list_some(struct round *r, uint32_t *at)
{
	struct images *images = r->lane->images;
	const struct image *image = NULL;
	int err = 0;
	mutex_lock(&images->lock);
	for (unsigned n = 0; n < BATCH && !err && (image = slots_from(&images->all, at)); n++, ++*at)
		err = list_image(r, image);
	mutex_unlock(&images->lock);
	r->listed = !image && !err;
	if (err)
		r->again = monotonic_ms() + FAULT_REST_MS;
	return image && !err && rest(r->lane, 0);
}

static int compare_todo(const void *a, const void *b)
{
	const struct todo *x = a, *y = b;
	if (x->richness != y->richness)
		return x->richness > y->richness ? -1 : 1;
	return x->image < y->image ? -1 : x->image > y->image;
}

static bool source_is_complete(struct images *images)
{
	mutex_lock(&images->lock);
	bool complete = images->complete;
	mutex_unlock(&images->lock);
	return complete;
}

static void show_pending(const struct round *r)
{
	atomic_store(&r->lane->images->digests.pending, r->todo.n - r->next + r->later);
}

static void list_files(struct round *r)
{
	bool complete = source_is_complete(r->lane->images);
	uint32_t at = 0;
	while (list_some(r, &at))
		;
	if (complete && r->listed)
		digests_sweep(&r->lane->images->digests);
	if (r->todo.n)
		qsort(r->todo.v, r->todo.n, sizeof(*r->todo.v), compare_todo);
	show_pending(r);
}

/* ---- One after the other ---- */

/* Whether the file @source is to be digested now: fills in @ret. */
static bool take(const struct round *r, const struct source *source, struct file *ret)
{
	if (due_of(r, source) > monotonic_ms())
		return false;
	*ret = (struct file){strdup(source->path), source->fetched, source_key(source)};
	return ret->path;
}

/* A file of an image that something was asked of. */
static bool take_asked(struct round *r, struct file *ret) REQUIRES(&r->lane->images->lock)
{
	struct images *images = r->lane->images;
	const struct revision *rev;
	for (unsigned n = 0; n < BATCH && (rev = slots_from(&images->revisions, &r->revision)); n++) {
		if (!rev->stale &&
		    (take(r, image_source(rev->image), ret) || take(r, image_binary(rev->image), ret)))
			return true; /* it may have another: its turn is next */
		r->revision++;
	}
	return false;
}

static bool take_listed(struct round *r, struct file *ret) REQUIRES(&r->lane->images->lock)
{
	for (unsigned n = 0; n < BATCH && r->next < r->todo.n; n++) {
		const struct todo *todo = &r->todo.v[r->next++];
		const struct image *image = slots_get(&r->lane->images->all, todo->image);
		if (image && take(r, chosen(image, todo->binary), ret))
			return true;
	}
	return false;
}

/* False when there is none left. */
static bool next_file(struct round *r, struct file *ret)
{
	bool found = false;
	while (!found && r->next < r->todo.n && rest(r->lane, 0)) {
		mutex_lock(&r->lane->images->lock);
		found = take_asked(r, ret) || take_listed(r, ret);
		mutex_unlock(&r->lane->images->lock);
	}
	return found;
}

static int put_off(struct round *r, const struct file *file, int64_t duration)
{
	int64_t due = monotonic_ms() + duration;
	note_later(r, due);
	return digests_fail(&r->lane->images->digests, &file->key, due);
}

/* Which says nothing of the file. */
static bool is_out_of_resources(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

static int note_failure(struct round *r, const struct file *file, int err)
{
	bool changed = err == -ESTALE;
	metric_add(&r->lane->metrics->digests[changed ? DIGEST_REPLACED : DIGEST_FAILED], 1);
	if (!changed) {
		const struct log *log = r->lane->log;
		log_warning(log, "digest: '%s%s': cannot read: %s", file->fetched ? "" : log_slash(log),
			    file->path, strerror(-err));
		rest(r->lane, FAULT_REST_MS * ms);
	}
	return put_off(r, file, changed || is_out_of_resources(err) ? SOON_MS : FAILED_MS);
}

/* 0, or why the round must end. */
static int digest_file_of(struct round *r, const struct file *file)
{
	uint8_t digest[STORE_DIGEST];
	int64_t unsettled = file_key_unsettled(&file->key) * 1000;
	if (unsettled)
		return put_off(r, file, unsettled < FAILED_MS ? unsettled : FAILED_MS);
	int err = read_file(r->lane, file, &r->pace, digest);
	if (err == -ECANCELED)
		return err;
	if (err)
		return note_failure(r, file, err);
	const struct log *log = r->lane->log;
	log_debug(log, "digest: '%s%s': %llu bytes", file->fetched ? "" : log_slash(log), file->path,
		  (unsigned long long)file->key.size);
	metric_add(&r->lane->metrics->digests[DIGEST_MADE], 1);
	return digests_set(&r->lane->images->digests, &file->key, digest, false);
}

/* When to begin the next one at the latest is in *@again. 0, or why there is none. */
static int do_round(const struct digest_lane *lane, int64_t *again)
{
	struct round r = {.lane = lane, .again = never, .pace.cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID)};
	int64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct file file;
	int err = 0;
	list_files(&r);
	int64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	while (!err && next_file(&r, &file)) {
		err = digest_file_of(&r, &file);
		free(file.path);
		show_pending(&r);
	}
	show_pending(&r); /* those that were listed may have had their turn with the asked ones */
	vec_free(&r.todo);
	*again = err == -ENOMEM ? monotonic_ms() + FAULT_REST_MS : r.again;
	rest(lane, took * REST_FACTOR);
	return err == -ENOMEM ? 0 : err;
}

static void *digest_files(void *arg)
{
	enum {
		THIS_THREAD = 1,
		IDLE = 3 << 13
	}; /* IOPRIO_WHO_PROCESS, IOPRIO_CLASS_IDLE; see ioprio_set(2) */
	struct digest_lane *lane = arg;
	int64_t again = never;
	int err = 0;
	syscall(SYS_ioprio_set, THIS_THREAD, 0, IDLE);
	while (!err && wait_for_files(lane, again))
		err = do_round(lane, &again);
	return NULL;
}

int digest_lane_start(struct digest_lane *lane)
{
	if (!lane->rate)
		return 0;
	lane->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (lane->wake_fd < 0)
		return -errno;
	int err = thread_start(&lane->thread, "digest", digest_files, lane);
	lane->running = !err;
	return err;
}

void digest_lane_stop(struct digest_lane *lane)
{
	if (lane->running)
		pthread_join(lane->thread, NULL);
	lane->running = false;
}
