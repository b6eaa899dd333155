/*
 * cache_names.h - which files the cache has: its directory is read once, where each of very many keys would
 * have to be looked up in it.
 */
#ifndef WORK_CACHE_CACHE_NAMES_H
#define WORK_CACHE_CACHE_NAMES_H

#include <dirent.h>

#include "gsym/base/vec.h"
#include "work/cache/cache.h"

/* Zero-initialised: nothing was read. */
struct cache_names {
	DIR *dir;               /* while it is being read */
	VEC(uint64_t) hashes;   /* of the keys; sorted when @complete */
	bool complete, unknown; /* @unknown: the directory cannot be read, any key may be there */
};

/* Reads up to @max further names, of the cache as it is by then. 0 or -ENOMEM. */
int cache_names_read(struct cache_names *names, const struct cache *cache, size_t max);

/* Whether there may be a converted file of @key: false is certain. @names: complete. */
bool cache_names_may_have(const struct cache_names *names, const struct cache_key *key);

size_t cache_names_bytes(const struct cache_names *names);
void cache_names_deinit(struct cache_names *names);

#endif
