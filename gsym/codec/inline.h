/*
 * inline.h - the tree of functions inlined into a function (gsym(5), "Inline info").
 *
 * On disk a tree has a root that stands for the function itself; in memory it is left out and nodes begin at
 * depth 1. Ranges of a node are stored relative to the first range of its parent, in memory to the function's
 * start. Internal.
 */
#ifndef GSYM_CODEC_INLINE_H
#define GSYM_CODEC_INLINE_H

#include "gsym/base/cursor.h"
#include "gsym/codec/buf.h"
#include "gsym/codec/decoder.h"
#include "gsym/codec/format.h"
#include "gsym/codec/inline_node.h"

/* A descent from the root to the innermost node that contains an address. Allocates nothing. */
struct inline_walk {
	struct cursor c;
	const struct gsym_tables *tables;
	uint64_t off;  /* of the address, from the function's start */
	uint64_t base; /* start of the first range of the node reached last */
	unsigned depth;
	bool deeper; /* that node has children */
};

/*
 * Enters the root.
 *
 * @walk:   overwritten
 * @block:  the bytes of the tree
 * @tables: borrowed
 * @off:    the address, relative to the start of the function
 *
 * 0, or -EBADMSG.
 */
int inline_walk_init(struct inline_walk *walk, struct cursor block, const struct gsym_tables *tables,
		     uint64_t off, struct gsym_diag *diag);

/*
 * The first child of the present node that contains the address: 1 and @ret, 0 when there is none or the node
 * is at INLINE_DEPTH_MAX, -EBADMSG for bytes that are no inline info.
 */
int inline_walk_next(struct inline_walk *walk, struct inline_node *ret, struct gsym_diag *diag);

/*
 * Decodes and checks a tree. What is nested deeper than INLINE_DEPTH_MAX fails it, or is left out and counted
 * if @out salvages.
 *
 * @block:  the bytes of the tree, left at its end
 * @size:   of the function, bytes
 * @tables: what nodes may refer to
 * @out:    nodes and ranges are appended
 *
 * 0, -EBADMSG, also from inline_check(), or -ENOMEM.
 */
int inline_decode(struct cursor *block, uint32_t size, const struct gsym_tables *tables,
		  struct gsym_decoder *out, struct gsym_diag *diag);

/* Appends the tree of @func, which has a node at least, to @out: 0, -EINVAL from inline_check(), -ENOMEM. */
int inline_encode(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables,
		  struct gsym_diag *diag);

/*
 * Whether the nodes are a tree in preorder whose strings and files exist and whose ranges ascend and lie
 * within one range of the parent each: 0, or @err and which node is wrong.
 */
int inline_check(const struct gsym_func *func, const struct gsym_tables *tables, int err,
		 struct gsym_diag *diag);

#endif
