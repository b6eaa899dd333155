#include "work/run/debuginfod.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "gsym/base/ascii.h"
#include "gsym/base/diag.h"
#include "gsym/base/vec.h"
#include "work/cache/cache_dir.h"
#include "work/worker/child.h"
#include "work/run/neighbour.h"

enum {
	/* Until a missing file is requested again: packages are published before their debug data. */
	MISSING_SECONDS = 3600,
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

uint64_t fetch_servers_hash(const char *urls)
{
	uint64_t sum = XXH3_64bits(urls, strlen(urls));
	return sum ? sum : 1;
}

int fetcher_open(struct fetcher *f, const struct cache *cache, struct gsym_diag *diag)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	mutex_init(&f->lock, LOCK_FETCH);
	if (!urls || !*urls) {
		log_warning(f->log, "debuginfod=yes has no effect: DEBUGINFOD_URLS is not set");
		return 0;
	}
	int err = fetch_servers_read(f, urls);
	if (err)
		return diag_set(diag, err, "debuginfod: DEBUGINFOD_URLS: %s",
				err == -E2BIG ? "too many servers" : strerror(-err));
	err = open_directory(f, cache, diag);
	f->servers = err ? 0 : fetch_servers_hash(urls);
	return err;
}

void fetcher_close(struct fetcher *f)
{
	fetch_servers_free(f);
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

static int await_file(const struct fetcher *f, const struct child *child, char path[static FETCH_PATH_SIZE],
		      uint32_t *ret_failed)
{
	union worker_message msg;
	int fd = -1, deadline = (int)f->seconds * 1000 + GRACE_MS;
	int got = child_receive_fd(child, f->stop_fd, monotonic_ms() + deadline, &msg, &fd);
	int err = got < 0 ? got : -EPROTO;
	if (got == 1 && msg.head.type == WORKER_OPENED)
		*ret_failed = msg.opened.failed;
	if (got == 1 && msg.head.type == WORKER_OPENED && msg.opened.error)
		/* libdebuginfod takes no id of 64 bytes, which says nothing of the servers. */
		err = msg.opened.error == EINVAL ? -ENOENT : -msg.opened.error;
	else if (got == 1 && msg.head.type == WORKER_OPENED && fd >= 0)
		err = check_file(f, fd, path);
	if (fd >= 0)
		close(fd);
	return err;
}

/* A file or error from the servers in order->urls. @ret_failed: which of them failed, by position. */
static int run_client(const struct fetcher *f, struct worker_download *order,
		      char path[static FETCH_PATH_SIZE], uint32_t *ret_failed)
{
	const struct child_order start = {
		.program = f->worker,
		.mode = "fetch",
		.stop_fd = f->stop_fd,
	};
	struct gsym_diag diag = {""};
	struct child child;
	int err = child_start(&start, &child, &diag);
	if (err && err != -ECANCELED)
		log_error(f->log, "debuginfod: %s", diag.text);
	if (err)
		return err;
	worker_send(child.sock, &order->head, WORKER_DOWNLOAD, -1); /* a dead worker is noticed below */
	int fd = await_file(f, &child, path, ret_failed);
	if (fd == -ETIMEDOUT || fd == -ECANCELED || fd == -EPROTO)
		child_kill(&child);
	child_finish(&child, NULL);
	return fd;
}

/* The first whole second of the wall clock that is at least @ms away. */
static int64_t second_after(int64_t ms)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec + (t.tv_nsec / 1000000 + ms + 1000) / 1000;
}

static void count_fetch(struct fetcher *f, int fd)
{
	counter_add(&f->counters->fetches[fd >= 0         ? FETCH_FOUND
					  : fd == -ENOENT ? FETCH_MISSING
							  : FETCH_FAILED],
		    1);
}

static void tell(const struct fetcher *f, const uint8_t *id, size_t size, const struct fetched *file)
{
	char name[2 * IMAGE_ID_MAX + 1];
	hex_write(name, id, size);
	if (file->fd >= 0)
		log_info(f->log, "debuginfod: fetched '%s'", file->path);
	else if (file->fd == -ELIBACC)
		log_error(f->log,
			  "debuginfod: cannot load libdebuginfod.so.1: install it, or set debuginfod=no");
	else if (fetch_failed(file->fd))
		log_warning(f->log, "debuginfod: cannot fetch %s: %s", name, strerror(-file->fd));
	else if (file->fd == -EFBIG)
		log_warning(f->log, "debuginfod: cannot fetch %s: larger than cache_size=%llu bytes", name,
			    (unsigned long long)f->size);
	else
		log_info(f->log, "debuginfod: no server has %s", name);
}

/* Asks the servers that do not rest. */
static void ask(struct fetcher *f, struct worker_download *order, uint32_t asked, struct fetched *ret)
{
	uint32_t failed = 0;
	int64_t start = monotonic_ms();
	(void)cache_dir_make(
		f->directory); /* it may have been removed; the client tells if it is not there */
	ret->fd = run_client(f, order, ret->path, &failed);
	if (ret->fd == -ECANCELED)
		return;
	failed = fetch_servers_spread(asked, failed);
	if (fetch_failed(ret->fd) && !failed)
		failed = asked; /* it is not known which */
	int failure = fetch_failed(ret->fd) ? ret->fd : -EREMOTEIO;
	fetch_servers_note(f, asked, failed, failure, monotonic_ms() - start);
	count_fetch(f, ret->fd);
	tell(f, order->id, order->id_size, ret);
}

void fetcher_get(struct fetcher *f, const uint8_t *id, size_t size, unsigned silence, struct fetched *ret)
{
	struct worker_download order = {
		.id_size = (uint32_t)size, .seconds = f->seconds, .size = f->size, .silence = silence};
	struct fetch_rest rest;
	memcpy(order.id, id, size);
	snprintf(order.directory, sizeof(order.directory), "%s", f->directory);
	*ret = (struct fetched){.fd = -ENOENT};
	uint32_t asked = fetch_servers_choose(f, order.urls, &rest);
	order.partial = rest.failure != 0;
	if (asked)
		ask(f, &order, asked, ret);
	if (ret->fd == -ENOENT && rest.failure)
		ret->fd = rest.failure; /* the one that rests may have it */
	fetch_servers_choose(f, order.urls, &rest);
	ret->again = second_after(fetch_failed(ret->fd) && rest.failure ? rest.ms : MISSING_SECONDS * 1000LL);
}

bool fetch_failed(int fd)
{
	return fd < 0 && fd != -ENOENT && fd != -EFBIG;
}

int fetch_errno(int err)
{
	return err == -ETIMEDOUT ? -ETIMEDOUT : -EHOSTUNREACH;
}
