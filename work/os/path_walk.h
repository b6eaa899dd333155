/*
 * path_walk.h - openat2(2) with RESOLVE_BENEATH by other system calls, for where a filter of them refuses it.
 */
#ifndef WORK_OS_PATH_WALK_H
#define WORK_OS_PATH_WALK_H

#include <stdint.h>

/*
 * Opens @path below @dir component by component: no rename or link meanwhile leads out. @flags are of
 * open(2), @resolve of openat2(2): RESOLVE_NO_SYMLINKS and RESOLVE_NO_XDEV, the latter by devices, without a
 * request to another. A descriptor, or a negative errno: those of openat2(2), and -ENAMETOOLONG for a path
 * that leads through more than 128 directories.
 */
int path_walk(int dir, const char *path, int flags, uint64_t resolve);

#endif
