/*
 * beneath.h - opens files below a directory, safe from symbolic links and races that lead outside.
 *
 * A user who can write to SOURCE can create symbolic links there, and replace a directory by one at any time.
 */
#ifndef WORK_OS_BENEATH_H
#define WORK_OS_BENEATH_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * The negative errno with which openat2(2) is refused altogether, by the kernel or a filter of system calls;
 * 0: it works. The functions below then do the same by path_walk(), more slowly.
 */
int beneath_refused(void);

/*
 * open(2) of the relative @path with @flags; no component may be a symbolic link or lead out of @dir. A
 * descriptor, or a negative errno: -ELOOP for a symbolic link, -EXDEV for a path that leaves @dir.
 */
int open_beneath(int dir, const char *path, int flags);

/*
 * open(2) of the relative @path with O_PATH, which has no side effects even on a device node. Symbolic links
 * that stay below @dir are followed on its file system only. On other file systems @path may have no symbolic
 * link and no "..", and no request is sent to the device @avoid (0: none). A descriptor, or a negative errno.
 */
int open_path_inside(int dir, const char *path, dev_t avoid);

/* Opens a directory so, by a path without symbolic links, on whatever file system but that of @avoid. */
int open_dir_inside(int dir, const char *path, dev_t avoid);

/*
 * Whether every user may search the directory and all above it. Walks up from the open descriptor, so that
 * renames cannot cause a time-of-check race.
 */
bool dir_open_to_all(int dir);

/*
 * Likewise for the directories above the open file of @st, by one of its paths. Sends no request to the
 * device
 * @avoid. False for a file without a path.
 */
bool file_open_to_all(int file, const struct stat *st, dev_t avoid);

/*
 * The device of @name in @dir, or of @dir itself if @name is "", from the kernel's cached attributes; 0 if
 * unknown. Sends no request to a file system: stat(2) of our own mount would deadlock once no thread serves
 * it.
 */
dev_t entry_device(int dir, const char *name);

/*
 * Returns the name ("proc") of the file system of the open directory @dir if it holds nothing but what the
 * kernel or gsymfs answers, NULL for others. devtmpfs cannot be told from tmpfs; it holds devices.
 */
const char *pseudo_file_system(int dir);

/*
 * The device of the open directory if its file system keeps attributes on this host alone, so that the kernel
 * need not ask another for them; else 0.
 */
dev_t local_device(int dir);

/*
 * stat(2) of @name in @dir, without following a symbolic link. Sends no request to the device @avoid: -EXDEV.
 * One system call if @name is on @local, of local_device(). 0 or a negative errno.
 */
int entry_stat(int dir, const char *name, dev_t avoid, dev_t local, struct stat *ret);

/*
 * stat(2) of the target of the symbolic link @path, if that is below @dir and on the same file system;
 * otherwise -EXDEV. Another file system might be our own mount, where stat(2) would deadlock.
 */
int stat_link_beneath(int dir, const char *path, struct stat *ret);

#endif
