/*
 * Reading inline info.
 *
 * Nodes have no length, so passing over a node means reading it and everything below it. All loops are flat:
 * nesting is a counter, and a list of siblings ends with a node that has no ranges.
 */
#include "inline.h"

#include "base/diag.h"

#include <inttypes.h>

static int bad(struct gsym_diag *diag, const struct cursor *c, const char *what)
{
	return diag_set(diag, -EBADMSG, "inline info: %s at offset 0x%" PRIx64, what, cursor_off(c));
}

static int too_deep(struct gsym_diag *diag, const struct cursor *c)
{
	return diag_set(diag, -EBADMSG, "inline info: nested deeper than %d at offset 0x%" PRIx64, INLINE_DEPTH_MAX,
			cursor_off(c));
}

/* The number of ranges a node begins with, checked against the bytes left. 0 ends a list of siblings. */
static uint64_t read_n_ranges(struct cursor *c)
{
	uint64_t n = cursor_uleb(c);
	if (!cursor_can_hold(c, n, 2))
		cursor_fail(c);
	return cursor_ok(c) ? n : 0;
}

/* What follows the ranges. */
static void read_node(struct cursor *c, const struct gsym_tables *tables, struct inline_node *node)
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

/* Reads @n > 0 ranges counted from @base: whether one contains @off, and where the first begins. */
static bool read_ranges(struct cursor *c, uint64_t n, uint64_t base, uint64_t off, uint64_t *ret_first)
{
	bool hit = false;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t start = cursor_uleb(c), size = cursor_uleb(c), end;
		if (__builtin_add_overflow(start, base, &start) || __builtin_add_overflow(start, size, &end))
			cursor_fail(c);
		if (!i)
			*ret_first = start;
		hit |= off - start < size; /* also false when off < start: the difference wraps */
	}
	return hit;
}

/* Passes over a list of siblings and all below them, which begin @depth levels down. */
static int skip_siblings(struct cursor *c, unsigned strp_size, unsigned depth, struct gsym_diag *diag)
{
	unsigned top = depth;
	while (depth >= top) {
		uint64_t n = read_n_ranges(c);
		if (!cursor_ok(c))
			return bad(diag, c, "node cut off");
		if (!n) {
			depth--;
			continue;
		}
		for (n *= 2; n; n--)
			(void)cursor_uleb(c);
		uint8_t flag = cursor_u8(c);
		cursor_skip(c, strp_size);
		(void)cursor_uleb(c);
		(void)cursor_uleb(c);
		if (flag && ++depth > INLINE_DEPTH_MAX)
			return too_deep(diag, c);
	}
	return 0;
}

int inline_walk_init(struct inline_walk *walk, struct cursor block, const struct gsym_tables *tables, uint64_t off,
		     struct gsym_diag *diag)
{
	struct inline_node root = {0};
	*walk = (struct inline_walk){.c = block, .tables = tables, .off = off};
	uint64_t n = read_n_ranges(&walk->c);
	bool hit = n && read_ranges(&walk->c, n, 0, off, &walk->base);
	if (n)
		read_node(&walk->c, tables, &root);
	if (!cursor_ok(&walk->c))
		return bad(diag, &walk->c, "root is damaged");
	walk->deeper = hit && root.has_children;
	return 0;
}

int inline_walk_next(struct inline_walk *walk, struct inline_node *ret, struct gsym_diag *diag)
{
	struct cursor *c = &walk->c;
	if (!walk->deeper)
		return 0;
	if (++walk->depth > INLINE_DEPTH_MAX)
		return too_deep(diag, c);
	for (;;) {
		uint64_t n = read_n_ranges(c);
		if (n) {
			bool hit = read_ranges(c, n, walk->base, walk->off, &ret->first);
			read_node(c, walk->tables, ret);
			walk->deeper = ret->has_children && cursor_ok(c);
			if (hit && cursor_ok(c)) {
				walk->base = ret->first;
				return 1;
			}
		}
		if (!cursor_ok(c))
			return bad(diag, c, "node is damaged");
		if (!n)
			return 0;
		int err = walk->deeper ? skip_siblings(c, walk->tables->strp_size, walk->depth + 1, diag) : 0;
		if (err)
			return err;
	}
}

/* Ranges of a node being decoded: 32 bits wide in the function record. */
static int decode_ranges(struct cursor *c, uint64_t n, uint64_t base, struct gsym_decoder *out)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t start = cursor_uleb(c), size = cursor_uleb(c);
		if (__builtin_add_overflow(start, base, &start) || start > UINT32_MAX || size > UINT32_MAX - start)
			cursor_fail(c);
		if (!cursor_ok(c))
			return -EBADMSG;
		struct gsym_range range = {(uint32_t)start, (uint32_t)size};
		if (vec_push(&out->ranges, range))
			return -ENOMEM;
	}
	return 0;
}

/* One node at @depth with @n ranges; gives the base of its children when it has some. */
static int decode_node(struct cursor *c, uint64_t n, uint64_t base, uint32_t depth, size_t first_range,
		       const struct gsym_tables *tables, struct gsym_decoder *out, bool *ret_has_children)
{
	struct inline_node node;
	size_t at = out->ranges.n;
	int err = decode_ranges(c, n, base, out);
	if (err)
		return err;
	read_node(c, tables, &node);
	if (!cursor_ok(c))
		return -EBADMSG;
	*ret_has_children = node.has_children;
	struct gsym_inline in = {
		.name = node.name,
		.call_file = (uint32_t)node.call_file,
		.call_line = node.call_line,
		.depth = depth,
		.first_range = (uint32_t)(at - first_range),
		.n_ranges = (uint32_t)n,
	};
	return vec_push(&out->inlines, in);
}

/* The root of a tree: only the start of its first range matters, and whether there is anything below. */
static int decode_root(struct cursor *c, const struct gsym_tables *tables, uint64_t *ret_base, bool *ret_has_children)
{
	struct inline_node root;
	uint64_t n = read_n_ranges(c);
	*ret_has_children = false;
	*ret_base = 0;
	if (n) {
		(void)read_ranges(c, n, 0, 0, ret_base);
		read_node(c, tables, &root);
		*ret_has_children = root.has_children && cursor_ok(c);
	}
	return cursor_ok(c) ? 0 : -EBADMSG;
}

/* The words for a failure of the functions above. */
static int decode_failed(int err, const struct cursor *c, struct gsym_diag *diag)
{
	if (err == -ENOMEM)
		return diag_set(diag, err, "inline info: no memory for its nodes");
	return bad(diag, c, "node is damaged");
}

/* Nodes below the root, in the order of the bytes, which is the preorder of the tree. */
static int decode_nodes(struct cursor *c, const struct gsym_tables *tables, struct gsym_decoder *out,
			struct gsym_diag *diag)
{
	uint64_t bases[INLINE_DEPTH_MAX + 1];
	size_t first_range = out->ranges.n;
	bool deeper;
	int err = decode_root(c, tables, &bases[1], &deeper);
	for (uint32_t depth = deeper; depth && !err;) {
		uint64_t n = read_n_ranges(c);
		size_t at = out->ranges.n;
		if (!cursor_ok(c))
			break;
		if (!n) {
			depth--;
			continue;
		}
		err = decode_node(c, n, bases[depth], depth, first_range, tables, out, &deeper);
		if (err || !deeper)
			continue;
		if (++depth > INLINE_DEPTH_MAX)
			return too_deep(diag, c);
		bases[depth] = out->ranges.v[at].off;
	}
	return err || !cursor_ok(c) ? decode_failed(err, c, diag) : 0;
}

int inline_decode(struct cursor *block, uint32_t size, const struct gsym_tables *tables, struct gsym_decoder *out,
		  struct gsym_diag *diag)
{
	size_t first_inline = out->inlines.n, first_range = out->ranges.n;
	uint64_t at = cursor_off(block);
	int err = decode_nodes(block, tables, out, diag);
	if (err || out->inlines.n == first_inline)
		return err;
	struct gsym_func func = {
		.size = size,
		.inlines = out->inlines.v + first_inline,
		.n_inlines = out->inlines.n - first_inline,
		.ranges = out->ranges.v + first_range,
		.n_ranges = out->ranges.n - first_range,
	};
	err = inline_check(&func, tables, -EBADMSG, diag);
	return err ? diag_prefix(diag, err, "inline info at offset 0x%" PRIx64, at) : 0;
}
