/*
 * changes.h - changes in SOURCE that events have reported since the last scan.
 *
 * Used by the scan thread only.
 */
#ifndef FS_SCAN_CHANGES_H
#define FS_SCAN_CHANGES_H

#include <stdbool.h>

#include "gsym/base/vec.h"

/* Zero-initialised is empty. */
struct changes {
	VEC(char *) paths; /* below SOURCE, owned */
	VEC(char *) moved; /* those of directories that were moved away; owned */
	bool all;          /* anything may have changed: a walk is needed */
	bool neighbours;   /* a directory of debug files has changed */
	bool evicted;      /* files of the cache were deleted */
};

/* Adds the entry @name of @dir ("": SOURCE itself), which was created, changed or removed. */
void changes_add(struct changes *changes, const char *dir, const char *name);

/* Likewise a directory that was moved away: all below it may be somewhere else. */
void changes_add_moved(struct changes *changes, const char *dir, const char *name);

bool changes_any(const struct changes *changes);

/* Sorts the paths and removes duplicates. */
void changes_sort(struct changes *changes);

/* Frees the paths and resets @changes to empty. */
void changes_clear(struct changes *changes);

#endif
