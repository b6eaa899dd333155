/*
 * attr.h - stat(2) and the kernel's caching of every kind of node.
 */
#ifndef FS_TREE_ATTR_H
#define FS_TREE_ATTR_H

#include "fs/images/revision.h"
#include "fs/tree/tree.h"

/* Seconds for which the kernel need not ask again. */
#define TIMEOUT_FIXED    3600.0 /* never changes under the same inode number */
#define TIMEOUT_LISTING  1.0    /* root, by-name, by-path: entries are added and replaced */
#define TIMEOUT_ALIAS    1.0    /* another spelling of an id: may become ambiguous, or another image's */
#define TIMEOUT_FRAGMENT 1.0    /* an answer while the rest of its image is being converted */
#define TIMEOUT_NEGATIVE 1.0    /* a name that does not exist now */
/* In the root, whether it is there or not: images are added and replaced. */
#define TIMEOUT_IMAGE (IMAGE_ENTRY_MS / 1000.0)

/* Directories of the daemon's own. */
void attr_own_dir(const struct tree *tree, uint64_t ino, struct stat *ret);

/* A symbolic link to a text of @size bytes. */
void attr_link(const struct tree *tree, uint64_t ino, size_t size, struct stat *ret);

/* A directory of by-path: what it stands for. */
void attr_path_dir(const struct path_attr *attr, uint64_t ino, struct stat *ret);

/* With images.lock: by-path itself, which is there before SOURCE was looked at. */
void attr_by_path(const struct tree *tree, struct stat *ret);

/* The directory of an image: owner, permissions and time of its source. */
void attr_image(const struct source *source, uint64_t ino, struct stat *ret);

/* A file of an image. */
void attr_image_file(const struct revision *rev, uint64_t ino, uint64_t size, struct stat *ret);

/* q: writable by the users who may read the image. Its size is 0. */
void attr_batch(const struct revision *rev, uint64_t ino, struct stat *ret);

/* The same in the root, where everybody may: q, log. */
void attr_root_batch(const struct tree *tree, uint64_t ino, struct stat *ret);

/*
 * A snapshot of a file of the root.
 * @ino: that of the file
 * @reader: who may read it, see struct node
 * @size: bytes
 */
void attr_snapshot(const struct tree *tree, uint64_t ino, uid_t reader, uint64_t size, struct stat *ret);

/* A file of the root which everybody may read. */
void attr_root_file(const struct tree *tree, uint64_t ino, uint64_t size, struct stat *ret);

#endif
