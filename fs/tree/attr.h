/*
 * attr.h - stat(2) and the kernel's caching of every kind of node.
 */
#ifndef FS_TREE_ATTR_H
#define FS_TREE_ATTR_H

#include "fs/gsymfs.h"

/* Seconds for which the kernel need not ask again. */
#define TIMEOUT_FIXED 3600.0 /* what never changes under the same inode number */
#define TIMEOUT_LISTING                                                                                     \
	1.0                  /* root, by-name, by-path: their times tell nobody anything, but they may grow \
			      */
#define TIMEOUT_ALIAS    1.0 /* another spelling of an id: it may become ambiguous, or another image's */
#define TIMEOUT_NEGATIVE 1.0 /* what is not there now */

/* Directories of the daemon's own. */
void attr_own_dir(const struct gsymfs *fs, uint64_t ino, struct stat *ret);

/* A symbolic link to a text of @size bytes. */
void attr_link(const struct gsymfs *fs, uint64_t ino, size_t size, struct stat *ret);

/* A directory of by-path: what it stands for. */
void attr_path_dir(const struct path_attr *attr, uint64_t ino, struct stat *ret);

/* The directory of an image: owner, permissions and time of its source. */
void attr_image(const struct revision *rev, uint64_t ino, struct stat *ret);

/* A file of an image. */
void attr_image_file(const struct revision *rev, uint64_t ino, uint64_t size, struct stat *ret);

/* A file that those may write who may read the image: q. Its size says nothing. */
void attr_batch(const struct revision *rev, uint64_t ino, struct stat *ret);

/* The same in the root, where everybody may: q, log. */
void attr_root_batch(const struct gsymfs *fs, uint64_t ino, struct stat *ret);

/* The file metrics. Its size says nothing. */
void attr_metrics(const struct gsymfs *fs, uint64_t ino, struct stat *ret);

/*
 * Any node by its inode number (getattr.c): 0, -ESTALE for a number that is not, or no longer, in use,
 * -ENOMEM.
 * @ret_timeout is how long the kernel may believe it.
 */
int node_attr(struct gsymfs *fs, uint64_t ino, struct stat *ret, double *ret_timeout);

/* An entry that does not exist. */
struct fuse_entry_param entry_none(void);

/* An entry for what @attr describes. */
struct fuse_entry_param entry_make(const struct gsymfs *fs, const struct stat *attr, double entry_timeout,
				   double attr_timeout);

#endif
