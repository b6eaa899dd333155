/*
 * inline_node.h - the fields of a node of inline info, for loops that read nodes. Internal.
 *
 * A node is the number of its ranges, which is 0 at the end of a list of siblings; the ranges; and the
 * fields of read_node(). A node that is skipped is checked less strictly: only its end must be certain.
 */
#ifndef GSYM_CODEC_INLINE_NODE_H
#define GSYM_CODEC_INLINE_NODE_H

#include "gsym/base/cursor.h"
#include "gsym/codec/format.h"
#include "gsym/codec/leb.h"

/* A node that a lookup passes. */
struct inline_node {
	uint64_t first; /* start of its first range, from the function's start */
	uint64_t name;
	uint64_t call_file; /* not checked against the file table */
	uint32_t call_line;
	bool has_children;
};

/* The number of ranges a node begins with, checked against the bytes left. 0 ends a list of siblings. */
static LEB_INLINE uint64_t read_n_ranges(struct cursor *c)
{
	uint64_t n = leb_tiny(c);
	if (!cursor_can_hold(c, n, 2))
		cursor_fail(c);
	return cursor_ok(c) ? n : 0;
}

/* What follows the ranges. */
static inline void read_node(struct cursor *c, const struct gsym_tables *tables, struct inline_node *node)
{
	uint8_t flag = cursor_u8(c);
	node->name = cursor_uint(c, tables->strp_size);
	node->call_file = cursor_uleb(c);
	uint64_t line = cursor_uleb(c);
	if (flag > 1 || node->call_file > UINT32_MAX || line > UINT32_MAX)
		cursor_fail(c);
	node->has_children = flag == 1;
	node->call_line = (uint32_t)line;
}

/* Skips the fields of read_node(): whether there are children. */
static LEB_INLINE bool skip_node(struct cursor *c, unsigned strp_size)
{
	bool has_children = cursor_u8(c) != 0;
	cursor_skip(c, strp_size);
	leb_skip_pair(c);
	return has_children;
}

/* Skips the list of children of a node, and all below them. */
static inline void skip_children(struct cursor *c, unsigned strp_size)
{
	for (unsigned level = 1; level && cursor_ok(c);) {
		uint64_t n = read_n_ranges(c);
		if (!n) {
			level--;
			continue;
		}
		while (n--)
			leb_skip_pair(c);
		level += skip_node(c, strp_size);
	}
}

#endif
