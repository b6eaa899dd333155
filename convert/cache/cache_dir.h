/* cache_dir.h - the cache's directory itself: finding it, its leftovers, its size. Used by cache.c and
 * shared_dir.c only. */
#ifndef CONVERT_CACHE_CACHE_DIR_H
#define CONVERT_CACHE_CACHE_DIR_H

#include "convert/cache/cache_key.h"
#include "convert/os/log.h"
#include "gsym/gsym.h"

/* What names in it end and begin with; see cache.h and index_store.c. */
#define CACHE_GSYM_SUFFIX   ".gsym"
#define CACHE_FAILED_SUFFIX ".failed"
#define CACHE_TEMP_PREFIX   ".tmp-"
#define CACHE_INDEX_PREFIX  "index-"

/* mkdir -p, and the last directory is for its owner alone; what is there stays as it is. 0 or a negative
 * errno. */
int cache_dir_make(char *path);

/* Opens or makes the directory; @path NULL = the default. Stores a new copy of the path. */
int cache_dir_open(const char *path, int *ret_fd, char **ret_path, struct gsym_diag *diag);

struct cache_sum {
	uint64_t bytes; /* of all files that are ours */
	uint64_t files; /* converted ones */
};

/* Removes temporary files whose writer is gone; returns the sum of all that stays. */
struct cache_sum cache_dir_clean(int dir, const struct log *log);

/* Removes temporary files that were last written to @seconds ago, where locks may mean nothing. */
void cache_dir_expire(int dir, int64_t seconds, const struct log *log);

struct cache_bounds {
	uint64_t limit;  /* bytes; more are too much */
	uint64_t target; /* and then so many may stay */
};

/*
 * If there is too much, deletes what was used least recently, but not @keep. Everything that is ours counts;
 * only converted files and failures go. Returns the sum of what is left.
 */
struct cache_sum cache_dir_evict(int dir, const struct cache_bounds *bounds, const char *keep,
				 const struct log *log);

#endif
