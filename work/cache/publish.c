/*
 * Publishes converted files; keeps them in memory while the directory cannot be written to.
 */
#include "work/cache/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "gsym/base/diag.h"
#include "gsym/base/fault.h"
#include "gsym/base/file_io.h"
#include "work/cache/cache_dir.h"
#include "work/cache/cache_entry.h"
#include "work/os/monotonic.h"

/* ---- A full directory ---- */

bool cache_error_is_full(int err)
{
	const enum fault fault = fault_of(err);
	/* A directory that is not for us to write to, or a disk that fails, takes as little as a full one. */
	return fault == FAULT_ROOM || fault == FAULT_DENIED || err == -EIO;
}

void cache_note_full(struct cache *cache, int err)
{
	int64_t again = monotonic_ms() + CACHE_RETRY_SECONDS * 1000;
	if (!atomic_exchange(&cache->retry_at, again))
		log_warning(
			cache->log,
			"cache directory '%s': %s; conversions are kept in memory until it can be written "
			"to: make room or set another -o cache=DIR",
			cache->path, strerror(-err));
}

bool cache_is_full(const struct cache *cache)
{
	return monotonic_ms() < atomic_load(&cache->retry_at);
}

static void note_written(struct cache *cache)
{
	if (atomic_load(&cache->retry_at) && atomic_exchange(&cache->retry_at, 0))
		log_info(cache->log, "cache directory '%s' can be written to again", cache->path);
}

/* ---- On disk ---- */

static int append_trailer(struct cache_temp *temp, const char *key, uint64_t gsym_size, struct span notes,
			  struct span inputs)
{
	int err = trailer_write(temp->fd, key, gsym_size, notes, inputs);
	/* Durable before it is visible: the disk may be full only now. */
	return !err && fdatasync(temp->fd) ? system_error(errno) : err;
}

int cache_publish(struct cache *cache, struct cache_temp *temp, const struct cache_key *key, bool alone,
		  uint64_t gsym_size, struct span notes, struct span inputs, struct handle **ret,
		  struct gsym_diag *diag)
{
	char text[CACHE_KEY_SIZE], name[CACHE_NAME_SIZE];
	struct handle *handle;
	cache_entry_key(text, key, alone);
	cache_file_name(name, text, CACHE_GSYM_SUFFIX);
	int err = append_trailer(temp, text, gsym_size, notes, inputs);
	if (err)
		return diag_set(diag, err, "cache directory '%s': cannot write %s: %s", cache->path, name,
				strerror(-err));
	/* Before it is visible: nothing is published that the reader would reject, and others may evict it at
	 * once. */
	err = handle_open(temp->fd, text, &handle, diag);
	if (err)
		return err;
	bool is_new = faccessat(cache->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
	err = cache_temp_rename(cache, temp, name);
	if (err) {
		handle_put(handle);
		return diag_set(diag, err, "cache directory '%s': cannot rename to %s: %s", cache->path, name,
				strerror(-err));
	}
	note_written(cache);
	atomic_fetch_add(&cache->files, is_new);
	if (alone) /* cache_load() prefers the other name: an outdated file would hide this one */
		cache_forget_one(cache, key, false);
	cache_touch(cache, key, time(NULL));
	cache_grown(cache, name);
	*ret = handle;
	return 0;
}

/* ---- In memory ---- */

/* Closes files in memory until there is room for @more bytes of the file @key. */
static bool make_room(struct cache *cache, const struct cache_key *key, uint64_t more)
{
	const uid_t owner = cache_name_owner(key->text);
	bool dropped = more <= cache->memory;
	while (dropped && atomic_load(&cache->in_memory) + more > cache->memory)
		dropped = cache->drop_kept && cache->drop_kept(cache->drop_user, owner, more);
	return dropped;
}

int cache_temp_open_memory(struct cache *cache, const struct cache_key *key, struct cache_temp *ret,
			   struct gsym_diag *diag)
{
	if (!make_room(cache, key, 1))
		return diag_set(diag, -ENOSPC,
				"cache directory '%s' is full, and so is the memory used instead",
				cache->path);
	struct cache_temp temp = CACHE_TEMP_NONE;
	temp.fd = memfd_create("gsymfs-converted", MFD_CLOEXEC);
	if (temp.fd < 0)
		return diag_set(diag, -errno, "no memory for a converted file: %s", strerror(errno));
	*ret = temp;
	return 0;
}

int cache_keep(struct cache *cache, struct cache_temp *temp, const struct cache_key *key, bool alone,
	       uint64_t gsym_size, struct span notes, struct span inputs, struct handle **ret,
	       struct gsym_diag *diag)
{
	char text[CACHE_KEY_SIZE];
	struct handle *handle;
	cache_entry_key(text, key, alone);
	int err = trailer_write(temp->fd, text, gsym_size, notes, inputs);
	if (err)
		return diag_set(diag, err, "cannot keep %s in memory: %s", text, strerror(-err));
	err = handle_open(temp->fd, text, &handle, diag);
	if (err)
		return err;
	bool fits = make_room(cache, key, handle->map_size);
	handle->in_memory = &cache->in_memory;
	/* Another conversion may have taken the room. */
	if (atomic_fetch_add(&cache->in_memory, handle->map_size) + handle->map_size > cache->memory ||
	    !fits) {
		handle_put(handle);
		return diag_set(diag, -ENOSPC, "cache directory '%s' is full, and %s is too large for memory",
				cache->path, text);
	}
	*ret = handle;
	return 0;
}

/* Copies all of @handle to @temp, durable. Reserves the space first, so as not to fill the disk in vain. */
static int copy_kept(const struct handle *handle, struct cache_temp *temp)
{
	int err = -posix_fallocate(temp->fd, 0, (off_t)handle->map_size);
	if (!err)
		err = write_all(temp->fd, handle->map, handle->map_size, 0);
	return !err && fdatasync(temp->fd) ? system_error(errno) : err;
}

int cache_publish_kept(struct cache *cache, const struct handle *handle)
{
	char key[CACHE_KEY_SIZE], name[CACHE_NAME_SIZE];
	struct cache_temp temp;
	struct gsym_diag diag;
	int err = handle_key(handle, key);
	if (err)
		return err;
	cache_file_name(name, key, CACHE_GSYM_SUFFIX);
	err = cache_is_full(cache) ? -ENOSPC : cache_temp_open(cache, &temp, &diag);
	if (err)
		return err;
	err = copy_kept(handle, &temp);
	if (!err)
		err = cache_temp_rename(cache, &temp, name);
	if (err && cache_temp_probe(&temp)) /* else there is room for smaller ones */
		atomic_store(&cache->retry_at, monotonic_ms() + CACHE_RETRY_SECONDS * 1000);
	cache_temp_close(cache, &temp);
	if (err)
		return err;
	note_written(cache);
	atomic_fetch_add(&cache->files, 1);
	cache_grown(cache, name);
	return 0;
}
