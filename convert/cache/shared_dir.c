#include "convert/cache/shared_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gsym/base/diag.h"
#include "convert/cache/cache_dir.h"
#include "gsym/base/file_io.h"

enum {
	NAME_SIZE = CACHE_KEY_SIZE + 8, /* with the suffix */
	BLOCK = 256 << 10,
	TEMP_TRIES = 64, /* names may collide with those of other hosts */
	STALE_SECONDS = 24 * 3600,
};

/* A user who can write there could forge the answers of all hosts. */
static int check_owner(int fd, const char *path, struct gsym_diag *diag)
{
	struct stat st;
	if (fstat(fd, &st))
		return diag_set(diag, -errno, "shared directory '%s': cannot stat: %s", path,
				strerror(errno));
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return diag_set(diag, -EPERM,
				"shared directory '%s' belongs to user %u, which is neither the daemon's "
				"user nor root",
				path, (unsigned)st.st_uid);
	if (st.st_mode & 022)
		return diag_set(diag, -EPERM, "shared directory '%s' is writable by others: chmod it to 0700",
				path);
	return 0;
}

int shared_dir_open(struct shared_dir *shared, const char *path, const struct log *log,
		    struct gsym_diag *diag)
{
	*shared = (struct shared_dir){.dir = -1, .log = log};
	if (!path)
		return 0;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return diag_set(diag, -errno, "shared directory '%s': cannot open: %s", path,
				strerror(errno));
	int err = check_owner(fd, path, diag);
	shared->path = err ? NULL : strdup(path);
	if (!err && !shared->path)
		err = diag_set(diag, -ENOMEM, "no memory");
	if (err) {
		close(fd);
		return err;
	}
	shared->dir = fd;
	cache_dir_expire(fd, STALE_SECONDS, log);
	return 0;
}

void shared_dir_close(struct shared_dir *shared)
{
	if (shared->path)
		close(shared->dir);
	free(shared->path);
	shared->path = NULL;
	shared->dir = -1;
}

void shared_dir_complain(struct shared_dir *shared, enum shared_operation operation, int err)
{
	if (!atomic_exchange(&shared->complained[operation], true))
		log_warning(shared->log,
			    "shared directory '%s': cannot %s a file: %s; further errors are not logged",
			    shared->path, operation == SHARED_READ ? "read" : "write", strerror(-err));
}

static void file_name(char name[NAME_SIZE], const struct cache_key *key)
{
	snprintf(name, NAME_SIZE, "%s%s", key->text, CACHE_GSYM_SUFFIX);
}

/* ---- Reading ---- */

static int copy(int from, int to, uint64_t size)
{
	CLEANUP(freep) char *block = malloc(BLOCK);
	if (!block)
		return -ENOMEM;
	for (uint64_t off = 0; off < size;) {
		ssize_t n = pread(from, block, size - off < BLOCK ? (size_t)(size - off) : BLOCK, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		int err = write_all(to, block, (size_t)n, (off_t)off);
		if (err)
			return err;
		off += (uint64_t)n;
	}
	return 0;
}

int shared_dir_read(struct shared_dir *shared, const struct cache_key *key, uint64_t most, int fd)
{
	char name[NAME_SIZE];
	struct stat st;
	file_name(name, key);
	int from = openat(shared->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (from < 0)
		return -errno;
	int err = fstat(from, &st)              ? -errno
		  : !S_ISREG(st.st_mode)        ? -EMEDIUMTYPE
		  : (uint64_t)st.st_size > most ? -EFBIG
						: 0;
	if (!err)
		err = copy(from, fd, (uint64_t)st.st_size);
	if (!err) /* the time of last use, for administrators who delete unused files */
		futimens(from, (const struct timespec[]){{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}});
	close(from);
	return err;
}

/* ---- Writing ---- */

static int open_temp(struct shared_dir *shared, char name[static CACHE_TEMP_NAME_SIZE])
{
	for (int i = 0; i < TEMP_TRIES; i++) {
		snprintf(name, CACHE_TEMP_NAME_SIZE, CACHE_TEMP_PREFIX "%ld-%u", (long)getpid(),
			 atomic_fetch_add(&shared->next_temp, 1));
		int fd = openat(shared->dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
	}
	return -EEXIST;
}

int shared_dir_write(struct shared_dir *shared, const struct cache_key *key, const struct handle *handle,
		     struct span inputs)
{
	char temp[CACHE_TEMP_NAME_SIZE], name[NAME_SIZE];
	int fd = open_temp(shared, temp);
	if (fd < 0)
		return fd;
	file_name(name, key);
	/* From a truncated mapping write(2) fails with EFAULT instead of raising SIGBUS. */
	int err = write_all(fd, handle->gsym.data, handle->gsym.size, 0);
	if (!err)
		err = trailer_write(fd, key->text, handle->gsym.size, handle->notes, inputs);
	if (!err && fdatasync(fd))
		err = -errno;
	if (!err)
		err = handle_check(handle);
	if (!err && renameat(shared->dir, temp, shared->dir, name))
		err = -errno;
	if (err)
		unlinkat(shared->dir, temp, 0);
	close(fd);
	return err;
}

void shared_dir_forget(struct shared_dir *shared, const struct cache_key *key)
{
	char name[NAME_SIZE];
	file_name(name, key);
	unlinkat(shared->dir, name, 0);
}
