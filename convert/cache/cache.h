/*
 * cache.h - the directory of converted files.
 *
 * A file is named after the image's id and a fingerprint of one object file in one state, so that a
 * conversion is never used for another file: see cache_key_make(). Daemons that serve the same SOURCE share
 * it. Entries that depend on the object file alone are shared by all daemons and commands of a user. Files
 * appear atomically, by rename(2), and never change afterwards.
 *
 *	<key>.gsym      a converted image, see handle.h
 *	<key>.failed    a permanent failure: "key<TAB>errno<TAB>message", then the inputs that were
 *	                missing (inputs.h), and as hex the XXH3 of all that
 *	.tmp-...        being written, locked with flock(2) by its writer; stale without a lock
 *
 * Functions may be called by several threads at once.
 */
#ifndef CONVERT_CACHE_CACHE_H
#define CONVERT_CACHE_CACHE_H

#include <stdatomic.h>
#include <stdint.h>

#include "gsym/gsym.h"
#include "convert/cache/cache_key.h"
#include "convert/cache/handle.h"
#include "convert/os/log.h"

enum {
	CACHE_TEMP_NAME_SIZE = 48,
	FAILURE_TEXT_SIZE = 512,
	CACHE_MEMORY_MAX = 256 << 20, /* bytes of what cannot be published */
	CACHE_RETRY_SECONDS = 10,     /* after the directory could not be written to */
};

struct cache {
	int dir;
	char *path;
	uint64_t limit;             /* bytes of all files of the cache */
	uint64_t spare;             /* bytes that must stay free on its file system */
	_Atomic uint64_t bytes;     /* approximate sum of the files */
	_Atomic uint64_t files;     /* approximate number of converted files */
	atomic_bool evicted;        /* some file was, see cache_take_evicted() */
	atomic_uint next_temp;      /* makes temporary names differ */
	_Atomic uint64_t in_memory; /* bytes, see cache_keep() */
	/* When a directory that was full is tried again, ms of the monotonic clock; 0: it is not full. */
	_Atomic int64_t retry_at;
	const struct log *log; /* borrowed */
};

/* A file being written. */
struct cache_temp {
	int fd;
	char name[CACHE_TEMP_NAME_SIZE];
};

/*
 * Opens or creates the cache's directory and removes stale temporary files.
 *
 * @path:  the directory; NULL: the default one
 * @limit: of all its files, bytes
 * @spare: to stay free on its file system, bytes
 * @log:   borrowed
 *
 * 0; -EPERM if it belongs to another user or is writable by others; or another negative errno.
 */
int cache_open(struct cache *cache, const char *path, uint64_t limit, uint64_t spare, const struct log *log,
	       struct gsym_diag *diag);
void cache_close(struct cache *cache);

/*
 * Opens the converted file of @key: 0, or -ENOENT if there is none. A corrupt file, that of another key, or
 * anything else of that name, is logged and deleted or renamed: -ENOENT, or -EEXIST if it cannot be moved
 * away.
 */
int cache_load(struct cache *cache, const struct cache_key *key, struct handle **ret, struct gsym_diag *diag);

/* Whether a converted file of @key exists, and the size of its GSYM. Reads its trailer only, unverified. */
bool cache_has(const struct cache *cache, const struct cache_key *key, uint64_t *ret_size);

/* Likewise, and appends its notes, unverified, to @notes. */
bool cache_peek(const struct cache *cache, const struct cache_key *key, uint64_t *ret_size,
		struct text_buf *notes);

/* Deletes the converted file of @key. */
void cache_forget(struct cache *cache, const struct cache_key *key);

/*
 * Creates a temporary file, not yet visible under any key. If the directory was removed, makes another. 0 or
 * a negative errno.
 */
int cache_temp_open(struct cache *cache, struct cache_temp *ret, struct gsym_diag *diag);

/*
 * Creates one in memory, for cache_keep(). 0; -ENOSPC if there is enough of that already; or another negative
 * errno.
 */
int cache_temp_open_memory(struct cache *cache, struct cache_temp *ret, struct gsym_diag *diag);

/* Whether @err says that the directory is full, or that writing is impossible. */
bool cache_error_is_full(int err);

/*
 * The directory cannot be written to: @err, for which cache_error_is_full(). Logged once, until a file is
 * published. For some seconds cache_is_full() holds.
 */
void cache_note_full(struct cache *cache, int err);
bool cache_is_full(const struct cache *cache);

/*
 * Whether a little can be written to @temp, which is no longer needed and may be what fills the disk. 0 or a
 * negative errno. Leaves it with any content.
 */
int cache_temp_probe(const struct cache_temp *temp);

/* Removes it unless it was published, and closes it. */
void cache_temp_close(struct cache *cache, struct cache_temp *temp);

/*
 * Appends notes, inputs and trailer to @temp, which holds @gsym_size bytes of GSYM, and renames it to the
 * file of @key, durable before visible. Evicts files if the cache exceeds its limit or too little is free on
 * its file system, see cache_dir_evict(). @ret is the open file, which counts as used now and may be evicted
 * already.
 * @alone: the conversion looked for no neighbours, so that it depends on the object file alone.
 * 0; -EBADMSG if the output is not valid GSYM; or the errno of writing.
 */
int cache_publish(struct cache *cache, struct cache_temp *temp, const struct cache_key *key, bool alone,
		  uint64_t gsym_size, struct span notes, struct span inputs, struct handle **ret,
		  struct gsym_diag *diag);

/*
 * Opens @temp, which is in memory, as if it had been published. The memory is freed with the handle.
 * Parameters as of cache_publish(). -ENOSPC if that were more than CACHE_MEMORY_MAX.
 */
int cache_keep(struct cache *cache, struct cache_temp *temp, const struct cache_key *key, bool alone,
	       uint64_t gsym_size, struct span notes, struct span inputs, struct handle **ret,
	       struct gsym_diag *diag);

/* Publishes what cache_keep() gave, which stays in memory. 0, or a negative errno: there is still no room. */
int cache_publish_kept(struct cache *cache, const struct handle *handle);

/*
 * Recounts the files, since other daemons may have added some, and evicts as necessary. Reads the whole
 * directory: not for FUSE threads.
 */
void cache_trim(struct cache *cache);

/*
 * Whether files were evicted since the last call. Those that are open take space until they are closed, see
 * cache_holds().
 */
bool cache_take_evicted(struct cache *cache);

/* Whether @handle is still the converted file of @key, neither evicted nor replaced. */
bool cache_holds(const struct cache *cache, const struct cache_key *key, const struct handle *handle);

/* Whether the cache is more than half full, or the disk almost, so that files may be evicted soon. */
bool cache_is_tight(struct cache *cache);

/* Sets the time of last use, in seconds since the epoch, by which files are evicted. */
void cache_touch(struct cache *cache, const struct cache_key *key, int64_t when);

/* Records a permanent failure of these inputs. An error is logged only: the conversion is then retried. */
void cache_failure_store(struct cache *cache, const struct cache_key *key, int err, const char *text,
			 struct span inputs);
/*
 * The recorded failure of @key: a negative errno, with its message in @text and its inputs, NUL-terminated
 * and the caller's to free, in @ret_inputs; 0 if there is none.
 */
int cache_failure_load(struct cache *cache, const struct cache_key *key, char text[FAILURE_TEXT_SIZE],
		       char **ret_inputs);

/* Atomically replaces the file @name. For small files beside the converted ones. */
int cache_write_file(struct cache *cache, const char *name, const void *data, size_t size,
		     struct gsym_diag *diag);

#endif
