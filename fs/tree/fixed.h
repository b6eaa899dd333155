/*
 * fixed.h - nodes with fixed names: what every root and every image's directory has.
 *
 * One table describes them (fixed.c); lookup, listing, getattr and open follow from its rows. A new file is a
 * row there and a function that makes its content.
 */
#ifndef FS_TREE_FIXED_H
#define FS_TREE_FIXED_H

#include "fs/tree/tree.h"

struct fixed_node;

/* The node called @name in the directory of the image @dir, NULL for the root; or NULL. */
const struct fixed_node *fixed_find(struct revision *dir, const char *name);

/*
 * The entry of @node for a lookup. 0; -EAGAIN with call->wait filled while its size is not known; or why it
 * cannot be had.
 */
int fixed_lookup(struct call *call, struct revision *dir, const struct fixed_node *node,
		 struct fuse_entry_param *ret);

/*
 * The same of call->ino, a row of an image or a snapshot, which the kernel has a handle of. -ESTALE if it is
 * none.
 */
int fixed_itself(struct call *call, struct fuse_entry_param *ret);

/*
 * Entry number @index of a listing, from 0: 0 with @ret_name and @ret; -ENOENT when it is not listed now;
 * -ERANGE after the last. Starts and waits for nothing.
 */
int fixed_list(struct tree *tree, struct revision *dir, size_t index, const char **ret_name,
	       struct fuse_entry_param *ret);

/* The number of fixed entries of the directory of an image, or of the root. */
size_t fixed_count(bool in_image);

/* stat(2) of the fixed node @ino: 0, -ESTALE when there is none, -ENOMEM. @ret_timeout in seconds. */
int fixed_attr(struct tree *tree, uint64_t ino, struct stat *ret, double *ret_timeout);

/*
 * Answers the OPEN of the fixed node @ino, as call->attempt does; -EISDIR for a directory, -ESTALE for none.
 */
int fixed_open(struct call *call, uint64_t ino);

/* Whether @ino is a file that is written to and then read: q in every format, log. */
bool fixed_is_stream(struct tree *tree, uint64_t ino);

#endif
