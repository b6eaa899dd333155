/*
 * watch.h - detects changes in SOURCE by inotify.
 *
 * Every directory is watched before it is listed, so that no entry is missed: what the listing lacks arrives
 * as an event. Events only name paths; the current state is then read from the file system. Used by the scan
 * thread only.
 */
#ifndef FS_SCAN_WATCH_H
#define FS_SCAN_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "work/os/log.h"
#include "work/run/neighbour.h"
#include "fs/scan/changes.h"
#include "gsym/base/hash_table.h"

struct watch {
	int fd;            /* to be polled; -1: nothing is watched */
	unsigned most;     /* directories we may watch */
	bool complained;   /* that not all are */
	struct table dirs; /* by watch descriptor */
	const struct log *log;
};

/* If inotify is not available, logs the reason and watches nothing. */
void watch_open(struct watch *watch, const struct log *log);
void watch_close(struct watch *watch);

/*
 * Adds a watch.
 * @dir: the directory, open
 * @path: below SOURCE, or NULL for others
 * @is_root: it is SOURCE itself, or one of several, so that its parent is not watched
 * @pass: of the walk that visits it
 */
void watch_dir(struct watch *watch, int dir, const char *path, bool is_root, uint32_t pass);

/*
 * Watches the .build-id directories in the directories of debug files, and nothing else there: there may be a
 * hundred thousand directories. The last @n_sources directories of @search are the sources.
 */
void watch_debug_dirs(struct watch *watch, const struct search_path *search, size_t n_sources, uint32_t pass);

/* Watches the open directory @dir of the cache for files that are deleted. */
void watch_cache(struct watch *watch, int dir, uint32_t pass);

/* Removes those of @path, which was moved away, and below it that scan @pass did not visit elsewhere. */
void watch_forget_below(struct watch *watch, const char *path, uint32_t pass);

/* Removes the watches of directories that @pass, a complete walk, did not visit. */
void watch_sweep(struct watch *watch, uint32_t pass);

/*
 * Reads the pending events and adds the paths they name to @ret. @root: SOURCE, opened; @avoid: the device of
 * the mount, to which no request is sent.
 */
void watch_read(struct watch *watch, int root, dev_t avoid, struct changes *ret);

/* Reads and discards the pending events, because a walk follows. */
void watch_drain(struct watch *watch);

#endif
