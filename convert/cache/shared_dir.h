/*
 * shared_dir.h - a directory of converted files that daemons on several hosts share, behind the cache of
 *each.
 *
 *	<id>-<fingerprint>.gsym    as in the cache (cache.h), but the fingerprint is of content, and inputs
 *are as share.h has them .tmp-...                   being written
 *
 * Files are copied into the cache and checked there; nothing here is ever mapped. They appear whole, by
 *rename(2), so no lock is needed: who comes second writes the same bytes. Nothing is ever deleted but
 *leftovers and what is damaged.
 */
#ifndef CONVERT_CACHE_SHARED_DIR_H
#define CONVERT_CACHE_SHARED_DIR_H

#include <stdatomic.h>

#include "convert/cache/cache.h"

enum shared_doing { SHARED_READ, SHARED_WRITE };

struct shared_dir {
	int dir; /* -1: there is none */
	char *path;
	atomic_uint next_temp;
	atomic_bool complained[2]; /* by enum shared_doing */
	const struct log *log;     /* borrowed */
};

/*
 * Opens @path, NULL for none, and removes temporary files that are a day old. -EPERM when it belongs neither
 * to us nor to root, or others may write to it.
 */
int shared_dir_open(struct shared_dir *shared, const char *path, const struct log *log,
		    struct gsym_diag *diag);
void shared_dir_close(struct shared_dir *shared);

/* Copies the file of @key to @fd, from offset 0: 0; -ENOENT when there is none; -EFBIG beyond @most bytes;
 * another errno. */
int shared_dir_read(struct shared_dir *shared, const struct cache_key *key, uint64_t most, int fd);

/* Makes a file of @key. 0 or a negative errno. */
int shared_dir_write(struct shared_dir *shared, const struct cache_key *key, struct span gsym,
		     struct span notes, struct span inputs);

/* Deletes the file of @key, which is damaged. */
void shared_dir_forget(struct shared_dir *shared, const struct cache_key *key);

/* The first time: what is wrong goes to the log. */
void shared_dir_complain(struct shared_dir *shared, enum shared_doing doing, int err);

#endif
