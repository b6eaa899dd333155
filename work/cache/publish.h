/*
 * publish.h - makes a converted file an entry of the cache; in memory while its directory cannot be written
 * to.
 */
#ifndef WORK_CACHE_PUBLISH_H
#define WORK_CACHE_PUBLISH_H

#include "work/cache/cache.h"
#include "work/cache/cache_temp.h"

enum { CACHE_RETRY_SECONDS = 10 /* after the directory could not be written to */ };

/*
 * Appends notes, inputs and trailer to @temp, which holds @gsym_size bytes of GSYM, and renames it to the
 * file of @key, durable before visible. Evicts files if the cache exceeds its limit or too little is free on
 * its file system, see cache_dir_evict(). @ret is the open file, which counts as used now and may be evicted
 * already.
 *
 * @cache: open
 * @temp: what the worker has written
 * @key: of the conversion
 * @alone: it looked for no neighbours, so that it depends on the object file alone
 * @gsym_size: bytes
 * @notes, @inputs: as notes.h and inputs.h have them
 * @ret: with a reference for the caller
 * @diag: what failed
 *
 * 0; -EBADMSG if the output is not valid GSYM; or the errno of writing.
 */
int cache_publish(struct cache *cache, struct cache_temp *temp, const struct cache_key *key, bool alone,
		  uint64_t gsym_size, struct span notes, struct span inputs, struct handle **ret,
		  struct gsym_diag *diag);

/*
 * Opens a file in memory as if it had been published. The memory is freed with the handle. Others are closed
 * if all of them have more than cache.memory.
 *
 * @cache: open
 * @temp: from cache_temp_open_memory()
 * @key, @alone, @gsym_size, @notes, @inputs: as of cache_publish()
 * @ret: the open file
 * @diag: what failed
 *
 * 0; -ENOSPC if there is no room and none may be closed; -EBADMSG if the output is not valid GSYM; or the
 * errno of writing.
 */
int cache_keep(struct cache *cache, struct cache_temp *temp, const struct cache_key *key, bool alone,
	       uint64_t gsym_size, struct span notes, struct span inputs, struct handle **ret,
	       struct gsym_diag *diag);

/* Publishes what cache_keep() gave, which stays in memory. 0, or a negative errno: there is still no room. */
int cache_publish_kept(struct cache *cache, const struct handle *handle);

/* Whether @err says that the directory is full, or that writing is impossible. */
bool cache_error_is_full(int err);

/*
 * The directory cannot be written to: @err, for which cache_error_is_full(). Logged once, until a file is
 * published. For some seconds cache_is_full() holds.
 */
void cache_note_full(struct cache *cache, int err);
bool cache_is_full(const struct cache *cache);

/*
 * Creates one in memory, for cache_keep(). 0; -ENOSPC if there is enough of that already, and nothing of it
 * can be closed for @key; or another negative errno.
 */
int cache_temp_open_memory(struct cache *cache, const struct cache_key *key, struct cache_temp *ret,
			   struct gsym_diag *diag);

#endif
