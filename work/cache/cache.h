/*
 * cache.h - the directory of converted files.
 *
 * A file is named after the image's id and a fingerprint of one object file in one state, so that a
 * conversion is never used for another file: see cache_key_make(). Daemons that serve the same SOURCE share
 * it. Entries that depend on the object file alone are shared by all daemons and commands of a user. Files
 * appear atomically, by rename(2), and never change afterwards.
 *
 *	<key>.gsym      a converted image, see handle.h; its mode tells what cache_mark() does
 *	<key>.failed    a permanent failure: "key<TAB>errno<TAB>message", then the inputs that were
 *	                missing (inputs.h), and as hex the XXH3 of all that
 *	id-<...>        a link with the id of a file in one state, see cache_find(); goes with the file's
 *	                entry, or after a month
 *	.tmp-...        being written, locked with flock(2) by its writer; stale without a lock
 *	.lock           see cache_lock_try()
 *
 * Functions may be called by several threads at once.
 */
#ifndef WORK_CACHE_CACHE_H
#define WORK_CACHE_CACHE_H

#include <stdatomic.h>
#include <stdint.h>

#include "gsym/gsym.h"
#include "work/cache/cache_dir.h"
#include "work/cache/cache_key.h"
#include "work/cache/handle.h"
#include "work/os/log.h"

enum { CACHE_MEMORY_MAX = 256 << 20 /* bytes of what cannot be published */ };

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
	uint64_t memory;            /* limit of that */
	/*
	 * Closes a file in memory, to make room for another of @size bytes made from a file of @owner; false
	 * if none can be. Set before the first conversion, or NULL.
	 */
	bool (*drop_kept)(void *user, uid_t owner, uint64_t size);
	void *drop_user;
	/* When a directory that was full is tried again, ms of the monotonic clock; 0: it is not full. */
	_Atomic int64_t retry_at;
	const struct log *log; /* borrowed */
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
 * The same in two steps, for a client that may find what it needs and end: entries can be loaded after the
 * first, without the cost of listing a large cache, and published after the second.
 */
int cache_attach(struct cache *cache, const char *path, const struct log *log, struct gsym_diag *diag);
void cache_admit(struct cache *cache, uint64_t limit, uint64_t spare);

/* A cache without a directory: there are no entries, and conversions are kept in memory. 0 or -ENOMEM. */
int cache_attach_none(struct cache *cache, const struct log *log);

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

/* How many functions a converted file has. Zero-initialised: not known. */
struct cache_count {
	uint64_t ino; /* of the file */
	uint32_t functions;
};

/*
 * Whether a converted file of @key exists, and how many functions it has, likewise unverified; it is not read
 * if @count is of that file already.
 */
bool cache_functions(const struct cache *cache, const struct cache_key *key, struct cache_count *count);

/* Deletes the converted file of @key, under both of its names, or under one, see cache_publish(). */
void cache_forget(struct cache *cache, const struct cache_key *key);
void cache_forget_one(struct cache *cache, const struct cache_key *key, bool alone);

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

/*
 * Remembers with the file of @handle, unless it was evicted or replaced, whether it is still to be given to a
 * store that hosts share: handle.pending when it is opened again. An error only means that it may not be.
 */
void cache_mark(const struct cache *cache, const struct handle *handle, bool pending);

/* Sets the time of last use, in seconds since the epoch, by which files are evicted. */
void cache_touch(struct cache *cache, const struct cache_key *key, int64_t when);

/* The files of the directory were counted. */
void cache_set_sum(struct cache *cache, struct cache_sum sum);

/* The file @name was added: evicts others if the cache exceeds its limit or its disk is short of space. */
void cache_grown(struct cache *cache, const char *name);

/*
 * Locks the entry @key, so that one process at a time makes it: scripts start a command for each address,
 * several at once. Each entry is a byte of the file ".lock", locked with fcntl(2), so that nothing is left of
 * a lock whose process was killed. Where locks do not work there is none, and the entry may be made twice.
 *
 * 0, with a descriptor in @ret that close(2) unlocks, or -1 where locks do not work; -EAGAIN if another
 * process has it.
 */
int cache_lock_try(const struct cache *cache, const struct cache_key *key, int *ret);

/*
 * Finds the id of the file in @input, whose id is ignored, as a worker reported it before: the content of a
 * symbolic link whose name has the hash of what identifies the file, so that the cost does not depend on how
 * many entries the cache has. 0, or -ENOENT if it is not known for that state of the file.
 */
int cache_find(const struct cache *cache, const struct cache_input *input, char ret_id[ID_TEXT_SIZE]);

/*
 * Remembers the id in @input, in place of what was known of the file. For a file with one image: of several
 * the last one is known. Where links cannot be made, none is.
 */
void cache_remember(const struct cache *cache, const struct cache_input *input);

#endif
