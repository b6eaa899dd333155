/*
 * beneath.h - opening files below a directory without being led out of it.
 *
 * Whoever can write to SOURCE can put symbolic links there, and swap a directory for one at any moment.
 */
#ifndef FS_BENEATH_H
#define FS_BENEATH_H

#include <sys/stat.h>

/*
 * open(2) of @path, relative, with @flags; no component may be a symbolic link or lead out of @dir. A
 * descriptor, or a negative errno: -ELOOP for a link, -EXDEV for a way out.
 */
int open_beneath(int dir, const char *path, int flags);

/*
 * open(2) of @path, relative, with @flags; symbolic links that stay below @dir are followed, but only on its file
 * system. On others, which may be our own, only a path without links and "..": the caller knows where those
 * lead. A descriptor, or a negative errno.
 */
int open_inside(int dir, const char *path, int flags);

/*
 * stat(2) of what the symbolic link @path leads to, if that is below @dir and on the same file system; -EXDEV
 * if not. Another file system might be our own, which must not wait for itself.
 */
int stat_link_beneath(int dir, const char *path, struct stat *ret);

#endif
