/*
 * cache_dir.h - the directory of the cache: location, stale temporary files, size, eviction.
 */
#ifndef WORK_CACHE_CACHE_DIR_H
#define WORK_CACHE_CACHE_DIR_H

#include <dirent.h>
#include <sys/stat.h>

#include "work/cache/cache_key.h"
#include "work/os/log.h"
#include "gsym/gsym.h"

/* Suffixes and prefixes of its file names; see cache.h and fs/scan/index.h. */
#define CACHE_GSYM_SUFFIX   ".gsym"
#define CACHE_FAILED_SUFFIX ".failed"
#define CACHE_TEMP_PREFIX   ".tmp-"
#define CACHE_INDEX_PREFIX  "index-"

/* As mkdir -p, the last directory with mode 0700; existing ones are not changed. 0 or a negative errno. */
int cache_dir_make(const char *path);

/* Opens or creates the directory; @path NULL = the default. @ret_path: its absolute path, the caller's to
 * free. */
int cache_dir_open(const char *path, int *ret_fd, char **ret_path, struct gsym_diag *diag);

/* The files of the directory @dir; NULL with errno. */
DIR *cache_dir_list(int dir);

struct cache_sum {
	uint64_t bytes;   /* of all files of the cache, as the file system allocates them */
	uint64_t files;   /* number of converted ones */
	uint64_t evicted; /* number of files deleted just now */
};

/*
 * Removes stale temporary files, those that are not locked, and links to ids that are older than a month;
 * returns the sum of the other files.
 */
struct cache_sum cache_dir_clean(int dir, const struct log *log);

struct cache_bounds {
	uint64_t limit;  /* bytes above which files are evicted, */
	uint64_t target; /* until so many are left */
	uint64_t spare;  /* bytes that must stay free on the file system */
};

/* The bytes that a file takes from the disk. */
uint64_t cache_file_bytes(const struct stat *st);

/* How many bytes less than @spare are free on the file system of @dir. */
uint64_t cache_dir_shortage(int dir, uint64_t spare);

/*
 * Above the limit, or when too little is free on the file system, deletes files, but not @keep: of the owner
 * of object files whose entries take most, the least recently used one, again and again. So an owner whose
 * entries take less than an equal share loses none to others. If all that is left of the largest share is
 * @keep, the cache exceeds its limit until the next call. All files of the cache count; only converted files
 * and failures are deleted. Returns the sum of the files that are left.
 */
struct cache_sum cache_dir_evict(int dir, const struct cache_bounds *bounds, const char *keep,
				 const struct log *log);

/* The owner in the name of a cached file; root for those of earlier versions, which nothing reads. */
uint32_t cache_name_owner(const char *name);

#endif
