/*
 * beneath.h - opening files below a directory without being led out of it.
 *
 * Whoever can write to SOURCE can put symbolic links there, and swap a directory for one at any moment.
 */
#ifndef CONVERT_OS_BENEATH_H
#define CONVERT_OS_BENEATH_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * open(2) of @path, relative, with @flags; no component may be a symbolic link or lead out of @dir. A
 * descriptor, or a negative errno: -ELOOP for a link, -EXDEV for a way out.
 */
int open_beneath(int dir, const char *path, int flags);

/*
 * open(2) of @path, relative, with O_PATH, which does nothing to what is there, be it a device; symbolic
 * links that stay below @dir are followed, but only on its file system. On others only a path without links
 * and "..", and never on the device @avoid (0: none), which is not asked for anything. A descriptor, or a
 * negative errno.
 */
int open_path_inside(int dir, const char *path, dev_t avoid);

/*
 * Whether everybody may search the directory and all above it. Goes up from what was opened, so that no
 * directory can be swapped for another between the look and the use.
 */
bool dir_open_to_all(int dir);

/*
 * The same of the directories above an open file of @st, by one of its names; nothing on the device @avoid is
 * asked. A file without a name is open to nobody.
 */
bool file_open_to_all(int file, const struct stat *st, dev_t avoid);

/*
 * The device of @name in @dir, of @dir itself if that is "", by what the kernel remembers; 0 when it cannot
 * be told. No file system is asked: about our own mount stat(2) asks ourselves, and waits for ever once no
 * thread of ours answers any more.
 */
dev_t entry_device(int dir, const char *name);

/*
 * stat(2) of what the symbolic link @path leads to, if that is below @dir and on the same file system; -EXDEV
 * if not. Another file system might be our own, which must not wait for itself.
 */
int stat_link_beneath(int dir, const char *path, struct stat *ret);

#endif
