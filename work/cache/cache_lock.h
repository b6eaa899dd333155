/*
 * cache_lock.h - one process at a time makes an entry: scripts start a command for each address, several at
 * once.
 *
 * Each entry is a byte of the file ".lock", locked with fcntl(2), so that nothing is left of a lock whose
 * process was killed. Where locks do not work there is none, and the entry may be made twice.
 */
#ifndef WORK_CACHE_CACHE_LOCK_H
#define WORK_CACHE_CACHE_LOCK_H

#include "work/cache/cache.h"

/*
 * Locks the entry @key: 0, with a descriptor in @ret that close(2) unlocks, or -1 where locks do not work;
 * -EAGAIN if another process has it.
 */
int cache_lock_try(const struct cache *cache, const struct cache_key *key, int *ret);

#endif
