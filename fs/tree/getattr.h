/* getattr.h - stat(2) by inode number alone. */
#ifndef FS_TREE_GETATTR_H
#define FS_TREE_GETATTR_H

#include "fs/tree/tree.h"

/*
 * Any node by its inode number: 0, -ESTALE for a number that is not, or no longer, in use, -ENOMEM.
 * @ret_timeout is how long the kernel may believe it.
 */
int node_attr(struct tree *tree, uint64_t ino, struct stat *ret, double *ret_timeout);

#endif
