/*
 * The first look at a directory is by a thread of its own: a file server that is down would otherwise keep
 * its clients from starting. If the thread hangs, it keeps what it needs, and is forgotten.
 */
#include "store/client/store_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work/os/monotonic.h"
#include "work/os/mutex.h"
#include "work/os/thread.h"
#include "gsym/base/diag.h"

enum { ANSWER_MS = 2000 };

static int check_owner(int fd, const char *path, struct gsym_diag *diag)
{
	struct stat st;
	if (fstat(fd, &st))
		return diag_set(diag, -errno, "store '%s': cannot stat: %s", path, strerror(errno));
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return diag_set(diag, -EPERM,
				"store '%s' belongs to user %u, which is neither the daemon's user nor root",
				path, (unsigned)st.st_uid);
	if (st.st_mode & 022)
		return diag_set(diag, -EPERM, "store '%s' is writable by others: chmod it to 0700", path);
	return 0;
}

int store_directory_open(const char *path, struct gsym_diag *diag)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return diag_set(diag, -errno, "store '%s': cannot open: %s", path, strerror(errno));
	int err = check_owner(fd, path, diag);
	if (err)
		close(fd);
	return err ? err : fd;
}

/* ---- In time ---- */

struct directory_check {
	struct mutex lock;
	pthread_cond_t ended;
	unsigned refs; /* of the thread and of who waits; guarded by the lock, as are the next */
	bool is_done;
	int err;
	struct gsym_diag diag;
	char path[]; /* constant */
};

static void release(struct directory_check *check)
{
	mutex_lock(&check->lock);
	bool is_last = --check->refs == 0;
	mutex_unlock(&check->lock);
	if (!is_last)
		return;
	pthread_cond_destroy(&check->ended);
	mutex_destroy(&check->lock);
	free(check);
}

static void *look(void *arg)
{
	struct directory_check *check = arg;
	struct gsym_diag diag = {""};
	int dir = store_directory_open(check->path, &diag);
	if (dir >= 0)
		close(dir);
	mutex_lock(&check->lock);
	check->diag = diag;
	check->err = dir < 0 ? dir : 0;
	check->is_done = true;
	pthread_cond_signal(&check->ended);
	mutex_unlock(&check->lock);
	release(check);
	return NULL;
}

/* 0, or a negative errno with the reason in @diag. */
static int start_check(const char *path, struct directory_check **ret, struct gsym_diag *diag)
{
	size_t size = strlen(path) + 1;
	struct directory_check *check = calloc(1, sizeof(*check) + size);
	pthread_t thread;
	if (!check)
		return diag_set(diag, -ENOMEM, "store '%s': no memory", path);
	memcpy(check->path, path, size);
	check->refs = 2;
	mutex_init(&check->lock, LOCK_STORE);
	monotonic_cond_init(&check->ended);
	int err = thread_start(&thread, "gsymfs-look", look, check);
	if (!err) {
		pthread_detach(thread);
		*ret = check;
		return 0;
	}
	check->refs = 1;
	release(check);
	return diag_set(diag, err, "store '%s': cannot start a thread: %s", path, strerror(-err));
}

static void await_check(struct directory_check *check)
{
	const int64_t until = monotonic_ms() + ANSWER_MS;
	const struct timespec at = {.tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000};
	mutex_lock(&check->lock);
	while (!check->is_done && mutex_wait_until(&check->lock, &check->ended, &at) == 0)
		;
	mutex_unlock(&check->lock);
}

int store_directory_check(const char *path, const struct log *log, struct gsym_diag *diag)
{
	struct directory_check *check = NULL;
	int failed = start_check(path, &check, diag);
	if (failed)
		return failed;
	await_check(check);
	mutex_lock(&check->lock);
	const bool is_done = check->is_done;
	const int err = check->err;
	if (err)
		diag_set(diag, err, "%s", check->diag.text);
	mutex_unlock(&check->lock);
	release(check);
	if (!is_done)
		log_warning(log, "store '%s': the directory does not answer", path);
	return err;
}
