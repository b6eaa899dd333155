#include "convert/run/debuginfod.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "gsym/base/diag.h"
#include "gsym/base/vec.h"
#include "convert/cache/cache_dir.h"
#include "convert/run/child.h"
#include "convert/run/neighbour.h"

enum {
	/* Until a missing file is requested again: packages are published before their debug data. */
	MISSING_SECONDS = 3600,
	/* Exponential backoff after consecutive failures. */
	REST_MS_MIN = 10 * 1000,
	REST_MS_MAX = 3600 * 1000,
	/* For the client to time out and clean up by itself before it is killed. */
	GRACE_MS = 5000,
};

/* ---- The client's directory ---- */

static int client_path(const struct cache *cache, char **ret)
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	struct stat st;
	char *old = NULL;
	if (home && *home == '/' && asprintf(&old, "%s/.debuginfod_client_cache", home) < 0)
		return -ENOMEM;
	int n = 0;
	if (own && *own == '/')
		n = asprintf(ret, "%s", own);
	else if (old && stat(old, &st) == 0)
		*ret = TAKE(old);
	else if (xdg && *xdg == '/')
		n = asprintf(ret, "%s/debuginfod_client", xdg);
	else if (old)
		n = asprintf(ret, "%s/.cache/debuginfod_client", home);
	else
		n = asprintf(ret, "%s/debuginfod_client", cache->path);
	free(old);
	return n < 0 ? -ENOMEM : 0;
}

static int open_directory(struct fetcher *f, const struct cache *cache, struct gsym_diag *diag)
{
	CLEANUP(freep) char *path = NULL;
	struct stat st;
	int err = client_path(cache, &path);
	if (!err)
		err = cache_dir_make(path);
	if (!err)
		f->directory = realpath(path, NULL);
	if (err || !f->directory || strlen(f->directory) >= WORKER_PATH_MAX)
		return diag_set(diag, err ? err : -ENOENT, "debuginfod: cannot create the directory '%s': %s",
				path ? path : "", strerror(err ? -err : errno));
	if (stat(f->directory, &st) || st.st_uid != geteuid() || (st.st_mode & 022))
		return diag_set(
			diag, -EPERM,
			"debuginfod: directory '%s' belongs to another user or is writable by others: "
			"set DEBUGINFOD_CACHE_PATH",
			f->directory);
	return 0;
}

int fetcher_open(struct fetcher *f, const struct cache *cache, struct gsym_diag *diag)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	mutex_init(&f->lock, LOCK_FETCH);
	if (!urls || !*urls) {
		log_warning(f->log, "debuginfod=yes has no effect: DEBUGINFOD_URLS is not set");
		return 0;
	}
	int err = open_directory(f, cache, diag);
	uint64_t sum = XXH3_64bits(urls, strlen(urls));
	f->servers = err ? 0 : sum ? sum : 1;
	return err;
}

void fetcher_close(struct fetcher *f)
{
	free(f->directory);
	f->directory = NULL;
}

/* ---- One file ---- */

/* Accepts only a regular file of our user in that directory; returns a read-only descriptor of its own. */
static int check_file(const struct fetcher *f, int fd, char path[static FETCH_PATH_SIZE])
{
	char link[32];
	struct stat st;
	size_t length = strlen(f->directory);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, FETCH_PATH_SIZE - 1);
	if (n < 0)
		return -errno;
	path[n] = 0;
	if (strncmp(path, f->directory, length) != 0 || path[length] != '/')
		return -EPERM;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	return reopen(fd);
}

static int await_file(const struct fetcher *f, const struct child *child, char path[static FETCH_PATH_SIZE])
{
	union worker_message msg;
	int fd = -1, deadline = (int)f->seconds * 1000 + GRACE_MS;
	int got = child_receive_fd(child, f->stop_fd, monotonic_ms() + deadline, &msg, &fd);
	int err = got < 0 ? got : -EPROTO;
	if (got == 1 && msg.head.type == WORKER_OPENED && msg.opened.error)
		/* libdebuginfod takes no id of 64 bytes, which says nothing of the servers. */
		err = msg.opened.error == EINVAL ? -ENOENT : -msg.opened.error;
	else if (got == 1 && msg.head.type == WORKER_OPENED && fd >= 0)
		err = check_file(f, fd, path);
	if (fd >= 0)
		close(fd);
	return err;
}

static int run_client(const struct fetcher *f, const uint8_t *id, size_t size, unsigned silence,
		      char path[static FETCH_PATH_SIZE])
{
	const struct child_order start = {
		.program = f->worker,
		.mode = "fetch",
		.stop_fd = f->stop_fd,
	};
	struct worker_download order = {
		.id_size = (uint32_t)size, .seconds = f->seconds, .size = f->size, .silence = silence};
	struct gsym_diag diag = {""};
	struct child child;
	memcpy(order.id, id, size);
	snprintf(order.directory, sizeof(order.directory), "%s", f->directory);
	int err = child_start(&start, &child, &diag);
	if (err && err != -ECANCELED)
		log_error(f->log, "debuginfod: %s", diag.text);
	if (err)
		return err;
	worker_send(child.sock, &order.head, WORKER_DOWNLOAD, -1); /* a dead worker is noticed below */
	int fd = await_file(f, &child, path);
	if (fd == -ETIMEDOUT || fd == -ECANCELED || fd == -EPROTO)
		child_kill(&child);
	child_finish(&child, NULL);
	return fd;
}

/* ---- Backoff ---- */

static int64_t wall_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec;
}

/* The failure because of which no server is queried now, or 0. */
static int resting(struct fetcher *f, int64_t *ret_again)
{
	mutex_lock(&f->lock);
	int64_t left = f->rest_until - monotonic_ms();
	int why = left > 0 ? f->failure : 0;
	mutex_unlock(&f->lock);
	*ret_again = wall_seconds() + left / 1000 + 1;
	return why;
}

/* Records a reply or @failure after @took milliseconds. Returns the length of the backoff in milliseconds. */
static int64_t note_answer(struct fetcher *f, int failure, int64_t took)
{
	mutex_lock(&f->lock);
	/* Concurrent failures count once. */
	if (failure && f->rest_until <= monotonic_ms()) {
		f->rest_ms = f->rest_ms ? f->rest_ms * 2 : REST_MS_MIN;
		/* At most a third of the time is spent on timeouts. */
		f->rest_ms = f->rest_ms < took * 2 ? took * 2 : f->rest_ms;
		f->rest_ms = f->rest_ms > REST_MS_MAX ? REST_MS_MAX : f->rest_ms;
		f->rest_until = monotonic_ms() + f->rest_ms;
		f->failure = failure;
	} else if (!failure) {
		f->rest_ms = f->rest_until = 0;
	}
	int64_t rest = f->rest_ms;
	mutex_unlock(&f->lock);
	return rest;
}

static void hex(const uint8_t *id, size_t size, char *ret)
{
	for (size_t i = 0; i < size; i++)
		snprintf(ret + 2 * i, 3, "%02x", id[i]);
}

static void note_result(struct fetcher *f, const uint8_t *id, size_t size, int64_t took, struct fetched *ret)
{
	char name[2 * IMAGE_ID_MAX + 1];
	bool found = ret->fd >= 0, failed = fetch_failed(ret->fd);
	int64_t rest = note_answer(f, failed ? ret->fd : 0, took);
	hex(id, size, name);
	counter_add(&f->counters->fetches[found                ? FETCH_FOUND
					  : ret->fd == -ENOENT ? FETCH_MISSING
							       : FETCH_FAILED],
		    1);
	ret->again = wall_seconds() + (failed ? rest / 1000 + 1 : MISSING_SECONDS);
	if (found)
		log_info(f->log, "debuginfod: fetched '%s'", ret->path);
	else if (ret->fd == -ELIBACC)
		log_error(f->log,
			  "debuginfod: cannot load libdebuginfod.so.1: install it, or set debuginfod=no");
	else if (failed)
		log_warning(f->log, "debuginfod: cannot fetch %s: %s; no more requests for %lld s", name,
			    strerror(-ret->fd), (long long)rest / 1000);
	else if (ret->fd == -EFBIG)
		log_warning(f->log, "debuginfod: cannot fetch %s: larger than cache_size=%llu bytes", name,
			    (unsigned long long)f->size);
	else
		log_info(f->log, "debuginfod: no server has %s", name);
}

void fetcher_get(struct fetcher *f, const uint8_t *id, size_t size, unsigned silence, struct fetched *ret)
{
	*ret = (struct fetched){.fd = -ENOENT};
	ret->fd = resting(f, &ret->again);
	if (ret->fd)
		return;
	int64_t start = monotonic_ms();
	(void)cache_dir_make(
		f->directory); /* it may have been removed; the client tells if it is not there */
	ret->fd = run_client(f, id, size, silence, ret->path);
	if (ret->fd != -ECANCELED)
		note_result(f, id, size, monotonic_ms() - start, ret);
}

bool fetch_failed(int fd)
{
	return fd < 0 && fd != -ENOENT && fd != -EFBIG;
}

int fetch_errno(int err)
{
	return err == -ETIMEDOUT ? -ETIMEDOUT : -EHOSTUNREACH;
}
