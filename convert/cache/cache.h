/*
 * cache.h - the directory of converted files.
 *
 * A file is called after the image's id and a fingerprint of one object file in one state, so that what was
 * made of one file can never be taken for another's: see cache_key_make(). Daemons that serve the same
 * SOURCE share it, and what was made of the object file alone all daemons and commands of a user; whoever
 * publishes first has published for all. Files appear whole, by rename(2), and never change afterwards.
 *
 *	<key>.gsym      a converted image, see handle.h
 *	<key>.failed    a permanent failure: "errno<TAB>message", then the inputs that were missing
 *	                (inputs.h)
 *	.tmp-...        being written, locked with flock(2) by its writer; without a lock a leftover
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
};

struct cache {
	int dir;
	char *path;
	uint64_t limit;         /* bytes of all our files together */
	_Atomic uint64_t bytes; /* what they are now, about */
	_Atomic uint64_t files; /* converted ones, likewise */
	atomic_uint next_temp;  /* makes temporary names differ */
	const struct log *log;  /* borrowed */
};

/* A file being written. */
struct cache_temp {
	int fd;
	char name[CACHE_TEMP_NAME_SIZE];
};

/*
 * Opens or makes the directory @path, NULL for the default one, and removes leftovers. -EPERM when it belongs
 * to somebody else or others may write to it.
 */
int cache_open(struct cache *cache, const char *path, uint64_t limit, const struct log *log,
	       struct gsym_diag *diag);
void cache_close(struct cache *cache);

/*
 * The converted file of @key: 0, -ENOENT when there is none. A damaged one, or whatever else has its name, is
 * deleted or renamed, logged, and counts as none; -EEXIST when it cannot be moved away.
 */
int cache_load(struct cache *cache, const struct cache_key *key, struct handle **ret, struct gsym_diag *diag);

/* Whether there seems to be one, and how large its GSYM is. Reads a few bytes at most. */
bool cache_has(const struct cache *cache, const struct cache_key *key, uint64_t *ret_size);

/* The same, with its notes appended to @notes, unchecked. */
bool cache_peek(const struct cache *cache, const struct cache_key *key, uint64_t *ret_size,
		struct text_buf *notes);

/* Deletes the converted file of @key. */
void cache_forget(struct cache *cache, const struct cache_key *key);

/* A new file to write to, not yet visible under any key. */
int cache_temp_open(struct cache *cache, struct cache_temp *ret, struct gsym_diag *diag);

/* Removes it unless it was published, and closes it. */
void cache_temp_close(struct cache *cache, struct cache_temp *temp);

/*
 * Gives @temp, which holds @gsym_size bytes of GSYM, notes, inputs and trailer, and makes it the file of
 * @key, durable before visible. @alone: it was made of the object file alone, and no neighbour was asked for.
 * What does not open as GSYM is refused with -EBADMSG. Evicts what was used least recently when the directory
 * grows over its limit.
 */
int cache_publish(struct cache *cache, struct cache_temp *temp, const struct cache_key *key, bool alone,
		  uint64_t gsym_size, struct span notes, struct span inputs, struct gsym_diag *diag);

/*
 * Counts anew, since other daemons may have added files, and evicts what is too much. Walks over the
 * directory: for now and then, on a thread that nobody waits for.
 */
void cache_trim(struct cache *cache);

/* Whether the next file may lead to an eviction. */
bool cache_is_tight(struct cache *cache);

/* Notes that a file was used at @when (seconds since the epoch), for eviction. */
void cache_touch(struct cache *cache, const struct cache_key *key, int64_t when);

/* A failure that only another input can mend. Storing never fails: at worst it is tried again. */
void cache_failure_store(struct cache *cache, const struct cache_key *key, int err, const char *text,
			 struct span inputs);
/*
 * Its errno (negative), with the words in @text and the inputs, which the caller frees and which end with a
 * NUL beyond their size, in @ret_inputs; 0 when none is known.
 */
int cache_failure_load(struct cache *cache, const struct cache_key *key, char text[FAILURE_TEXT_SIZE],
		       char **ret_inputs);

/* Replaces the file @name by @size bytes, for small things kept beside the images. */
int cache_write_file(struct cache *cache, const char *name, const void *data, size_t size,
		     struct gsym_diag *diag);

#endif
