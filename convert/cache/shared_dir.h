/*
 * shared_dir.h - a directory of converted files shared by daemons on several hosts: a second level of cache.
 *
 *	<id>-<fingerprint>.gsym    as in the cache (cache.h), but the fingerprint is of the content, and the
 *	                           inputs are in the portable form of share.h
 *	.tmp-...                   being written
 *
 * Files are copied into the cache and verified there; none is mapped from here. They appear atomically, by
 * rename(2). No lock is needed: concurrent writers of a key write the same bytes. Only stale temporary files
 * and corrupt files are deleted.
 */
#ifndef CONVERT_CACHE_SHARED_DIR_H
#define CONVERT_CACHE_SHARED_DIR_H

#include <stdatomic.h>

#include "convert/cache/cache_temp.h"

enum shared_operation { SHARED_READ, SHARED_WRITE };

struct shared_dir {
	int dir; /* -1: there is none */
	char *path;
	atomic_uint next_temp;
	atomic_bool complained[2]; /* by enum shared_operation */
	const struct log *log;     /* borrowed */
};

/*
 * Opens @path, NULL for none, and removes temporary files older than a day. -EPERM if it belongs neither to
 * the daemon's user nor to root, or is writable by others.
 */
int shared_dir_open(struct shared_dir *shared, const char *path, const struct log *log,
		    struct gsym_diag *diag);
void shared_dir_close(struct shared_dir *shared);

/*
 * Copies the file of @key to @fd, from offset 0. 0; -ENOENT if there is none; -EFBIG if it has more than
 * @most bytes; or the errno of reading or writing.
 */
int shared_dir_read(struct shared_dir *shared, const struct cache_key *key, uint64_t most, int fd);

/* Publishes the content of @handle for @key, with other @inputs. 0 or a negative errno. */
int shared_dir_write(struct shared_dir *shared, const struct cache_key *key, const struct handle *handle,
		     struct span inputs);

/* Deletes the file of @key, which is corrupt. */
void shared_dir_forget(struct shared_dir *shared, const struct cache_key *key);

/* Logs the first error of each operation. */
void shared_dir_complain(struct shared_dir *shared, enum shared_operation operation, int err);

#endif
