/*
 * changes.h - what events say has changed in SOURCE since it was looked at last.
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
	bool all;          /* anything may have changed: a walk has to find out */
	bool neighbours;   /* a directory of debug files has changed */
	bool evicted;      /* files of the cache were deleted */
};

/* Notes that the entry @name of @dir ("": SOURCE itself) was made, changed or removed. */
void changes_add(struct changes *changes, const char *dir, const char *name);

bool changes_any(const struct changes *changes);

/* Sorts the paths, each once. */
void changes_sort(struct changes *changes);

/* Makes it empty; also ends it. */
void changes_clear(struct changes *changes);

#endif
