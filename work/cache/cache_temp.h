/*
 * cache_temp.h - files of the cache that are being written.
 */
#ifndef WORK_CACHE_CACHE_TEMP_H
#define WORK_CACHE_CACHE_TEMP_H

#include "work/cache/cache.h"

enum { CACHE_TEMP_NAME_SIZE = 48 };

/*
 * The lock marks the file as being written. It is of another descriptor than @fd, which workers and the
 * process of a store get: theirs would keep the lock when this process was killed, until they end as well.
 */
struct cache_temp {
	int fd, lock;
	char name[CACHE_TEMP_NAME_SIZE];
};

#define CACHE_TEMP_NONE ((struct cache_temp){.fd = -1, .lock = -1})

/*
 * Creates a temporary file, not yet visible under any key. If the directory was removed, makes another. 0 or
 * a negative errno.
 */
int cache_temp_open(struct cache *cache, struct cache_temp *ret, struct gsym_diag *diag);

/*
 * Whether a little can be written to @temp, which is no longer needed and may be what fills the disk. 0 or a
 * negative errno. Leaves it with any content.
 */
int cache_temp_probe(const struct cache_temp *temp);

/* Removes it unless it was published, and closes it. */
void cache_temp_close(struct cache *cache, struct cache_temp *temp);

/* Renames it to @name, visible. 0 or a negative errno. */
int cache_temp_rename(struct cache *cache, struct cache_temp *temp, const char *name);

/*
 * Atomically replaces a file beside the converted ones, which are evicted if there is no room for it.
 *
 * @cache: open
 * @name: of the file in its directory
 * @data, @size: the content, bytes
 * @diag: what failed
 *
 * 0 or the negative errno of creating, writing or renaming it.
 */
int cache_write_file(struct cache *cache, const char *name, const void *data, size_t size,
		     struct gsym_diag *diag);

#endif
