/*
 * Temporary files of the cache.
 */
#include "work/cache/cache_temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gsym/base/diag.h"
#include "gsym/base/fault.h"
#include "gsym/base/file_io.h"
#include "work/cache/cache_dir.h"

enum {
	TEMP_TRIES = 8,
	PROBE_BYTES = 64 * 1024,
};

/*
 * Opened for writing, since NFS locks nothing else. 0, -EEXIST if a starting daemon removed the file first,
 * or what failed.
 */
static int lock_temp(const struct cache *cache, struct cache_temp *temp)
{
	struct stat st, locked;
	temp->lock = openat(cache->dir, temp->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (temp->lock < 0)
		return errno == ENOENT ? -EEXIST : system_error(errno);
	if (flock(temp->lock, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? -EEXIST : system_error(errno);
	if (fstat(temp->fd, &st) || fstat(temp->lock, &locked))
		return system_error(errno);
	return st.st_ino == locked.st_ino && st.st_nlink > 0 ? 0 : -EEXIST;
}

void cache_temp_close(struct cache *cache, struct cache_temp *temp)
{
	if (temp->name[0])
		unlinkat(cache->dir, temp->name, 0);
	if (temp->fd >= 0)
		close(temp->fd);
	if (temp->lock >= 0)
		close(temp->lock);
	*temp = CACHE_TEMP_NONE;
}

static int temp_open(struct cache *cache, struct cache_temp *ret)
{
	struct cache_temp temp = CACHE_TEMP_NONE;
	int err = -EEXIST;
	for (int i = 0; i < TEMP_TRIES && err == -EEXIST; i++) {
		snprintf(temp.name, sizeof(temp.name), CACHE_TEMP_PREFIX "%ld-%u", (long)getpid(),
			 atomic_fetch_add(&cache->next_temp, 1));
		temp.fd = openat(cache->dir, temp.name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
				 0600);
		err = temp.fd < 0 ? system_error(errno) : lock_temp(cache, &temp);
		if (!err)
			*ret = temp;
		else if (temp.fd >= 0)
			cache_temp_close(cache, &temp);
	}
	return err;
}

static bool is_removed(int dir)
{
	struct stat st;
	return fstat(dir, &st) == 0 && st.st_nlink == 0;
}

/* Makes the directory again, under the descriptor of the old one, which other threads are using. */
static int make_again(struct cache *cache, struct gsym_diag *diag)
{
	int dir;
	CLEANUP(freep) char *path = NULL;
	int err = cache_dir_open(cache->path, &dir, &path, diag);
	if (err)
		return err;
	err = dup3(dir, cache->dir, O_CLOEXEC) < 0 ? system_error(errno) : 0;
	close(dir);
	if (err)
		return diag_set(diag, err, "cache directory '%s': %s", cache->path, strerror(-err));
	log_warning(cache->log, "cache directory '%s' was removed: made it again", cache->path);
	cache_set_sum(cache, cache_dir_clean(cache->dir, cache->log));
	return 0;
}

int cache_temp_open(struct cache *cache, struct cache_temp *ret, struct gsym_diag *diag)
{
	int err = temp_open(cache, ret);
	if (err == -ENOENT && is_removed(cache->dir)) {
		err = make_again(cache, diag);
		if (err)
			return err;
		err = temp_open(cache, ret);
	}
	/* Of the file server with the cache: to callers it would be the store's. */
	if (fault_of(err) == FAULT_NETWORK)
		err = -EIO;
	return err ? diag_set(diag, err, "cache directory '%s': cannot create a file: %s", cache->path,
			      strerror(-err))
		   : 0;
}

int cache_temp_probe(const struct cache_temp *temp)
{
	return ftruncate(temp->fd, 0) ? system_error(errno) : -posix_fallocate(temp->fd, 0, PROBE_BYTES);
}

int cache_temp_rename(struct cache *cache, struct cache_temp *temp, const char *name)
{
	if (renameat(cache->dir, temp->name, cache->dir, name))
		return system_error(errno);
	temp->name[0] = 0;
	return 0;
}

int cache_write_file(struct cache *cache, const char *name, const void *data, size_t size,
		     struct gsym_diag *diag)
{
	struct cache_temp temp;
	int err = cache_temp_open(cache, &temp, diag);
	if (err)
		return err;
	err = write_all(temp.fd, data, size, 0);
	if (!err)
		err = cache_temp_rename(cache, &temp, name);
	cache_temp_close(cache, &temp);
	if (err)
		return diag_set(diag, err, "cache directory '%s': cannot write %s: %s", cache->path, name,
				strerror(-err));
	cache_grown(cache, name);
	return 0;
}
