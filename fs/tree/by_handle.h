/*
 * by_handle.h - what file handles lead to, for servers of NFS and open_by_handle_at(2): the kernel has an
 * inode number, of this mount or one before it, but no inode, or a directory, but not the one it is in. The
 * number alone must do; the kernel compares the generation.
 */
#ifndef FS_TREE_BY_HANDLE_H
#define FS_TREE_BY_HANDLE_H

#include "fs/tree/tree.h"

/* The LOOKUP of "." and of ".." in call->ino. As answer_entry(), but -ESTALE when there is no such thing. */
int handle_itself(struct call *call, struct fuse_entry_param *ret);
int handle_parent(struct call *call, struct fuse_entry_param *ret);

#endif
