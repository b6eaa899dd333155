/*
 * Reading, checking and writing inline info.
 *
 * Nodes have no length, so passing over a node means reading it and everything below it. All loops are flat:
 * nesting is a counter, and a list of siblings ends with a node that has no ranges.
 */
#include "gsym/codec/inline.h"

#include "gsym/base/diag.h"
#include "gsym/base/invariant.h"
#include "gsym/base/search.h"
#include "gsym/codec/inline_node.h"

#include <inttypes.h>

static int bad(struct gsym_diag *diag, const struct cursor *c, const char *what)
{
	return diag_set(diag, -EBADMSG, "inline info: %s at offset 0x%" PRIx64, what, cursor_off(c));
}

static int too_deep(struct gsym_diag *diag, const struct cursor *c)
{
	return diag_set(diag, -EBADMSG, "inline info: nested deeper than %d at offset 0x%" PRIx64,
			INLINE_DEPTH_MAX, cursor_off(c));
}

/*
 * Reads @n > 0 ranges counted from @base: whether one contains @off, and where the first begins. The numbers
 * are read from a copy of the cursor, so that the next node does not have to wait for them. Sums may wrap; a
 * range that contains @off did not if it starts at or before it.
 */
static LEB_INLINE bool read_ranges(struct cursor *c, uint64_t n, uint64_t base, uint64_t off,
				   uint64_t *ret_first)
{
	bool hit = false;
	for (uint64_t i = 0; i < n; i++) {
		struct cursor at = *c;
		uint64_t start = leb_unsigned(&at) + base, size = leb_unsigned(&at);
		leb_skip_pair(c);
		*ret_first = i ? *ret_first : start;
		hit |= (off >= start) & (off - start < size);
	}
	return hit;
}

/*
 * Advances to the first sibling that contains the address and stops after its ranges: true. Otherwise
 * stops after the list of siblings, or where it is damaged.
 * Descendants are read like siblings, except that they do not match: one loop with few branches is faster
 * than two loops with fewer steps.
 */
static LEB_INLINE bool seek_sibling(struct inline_walk *walk, uint64_t *ret_first)
{
	struct cursor c = walk->c;
	unsigned level = walk->depth;
	invariant(level > 0 && level <= INLINE_DEPTH_MAX);
	bool hit = false;
	while (!hit && level >= walk->depth && cursor_ok(&c)) {
		uint64_t n = read_n_ranges(&c);
		if (!n) {
			level--;
			continue;
		}
		hit = read_ranges(&c, n, walk->base, walk->off, ret_first) & (level == walk->depth);
		if (!hit)
			level += skip_node(&c, walk->tables->strp_size);
	}
	walk->c = c;
	return hit;
}

/* Reads a node whose ranges contain the address; its children come next. */
static int enter(struct inline_walk *walk, struct inline_node *node, struct gsym_diag *diag)
{
	read_node(&walk->c, walk->tables, node);
	if (!cursor_ok(&walk->c) || node->first > walk->off)
		return bad(diag, &walk->c, "node is damaged");
	walk->base = node->first;
	walk->deeper = node->has_children;
	return 0;
}

int inline_walk_init(struct inline_walk *walk, struct cursor block, const struct gsym_tables *tables,
		     uint64_t off, struct gsym_diag *diag)
{
	struct inline_node root = {0};
	*walk = (struct inline_walk){.c = block, .tables = tables, .off = off};
	uint64_t n = read_n_ranges(&walk->c);
	if (n && read_ranges(&walk->c, n, 0, off, &root.first))
		return enter(walk, &root, diag);
	return cursor_ok(&walk->c) ? 0 : bad(diag, &walk->c, "root is damaged");
}

int inline_walk_next(struct inline_walk *walk, struct inline_node *ret, struct gsym_diag *diag)
{
	if (!walk->deeper || walk->depth == INLINE_DEPTH_MAX)
		return 0;
	walk->depth++;
	if (seek_sibling(walk, &ret->first)) {
		int err = enter(walk, ret, diag);
		return err ? err : 1;
	}
	return cursor_ok(&walk->c) ? 0 : bad(diag, &walk->c, "node is damaged");
}

/* Ranges of a node being decoded: 32 bits wide in the function record. */
static int decode_ranges(struct cursor *c, uint64_t n, uint64_t base, struct gsym_decoder *out)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t start = cursor_uleb(c), size = cursor_uleb(c);
		if (__builtin_add_overflow(start, base, &start) || start > UINT32_MAX ||
		    size > UINT32_MAX - start)
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
static int decode_root(struct cursor *c, const struct gsym_tables *tables, uint64_t *ret_base,
		       bool *ret_has_children)
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

/* Diagnoses a failure of the functions above. */
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
		if (depth < INLINE_DEPTH_MAX) {
			bases[++depth] = out->ranges.v[at].off;
			continue;
		}
		if (!out->salvages)
			return too_deep(diag, c);
		skip_children(c, tables->strp_size);
		out->n_deep++;
	}
	return err || !cursor_ok(c) ? decode_failed(err, c, diag) : 0;
}

int inline_decode(struct cursor *block, uint32_t size, const struct gsym_tables *tables,
		  struct gsym_decoder *out, struct gsym_diag *diag)
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

/* ---- Invariants of a tree, which may come from a producer or from a file ---- */

/* Names the node and what is wrong with it. */
static int bad_node(struct gsym_diag *diag, int err, size_t node, const char *what)
{
	return diag_set(diag, err, "inline node %zu: %s", node, what);
}

/* Ranges are 32 bits wide and so are their ends, as those of a function's size. */
static bool ranges_ascend(const struct gsym_range *r, size_t n)
{
	uint64_t end = 0;
	for (size_t i = 0; i < n; i++) {
		if (!r[i].size || r[i].off < end)
			return false;
		end = (uint64_t)r[i].off + r[i].size;
	}
	return true;
}

/* Whether @r lies within one of the @n ascending ranges @in: a binary search, as both counts may be large. */
static bool range_within(const struct gsym_range *r, const struct gsym_range *in, size_t n)
{
	size_t low = PARTITION_POINT(0, n, mid, in[mid].off <= r->off);
	if (!low)
		return false;
	uint64_t end = (uint64_t)in[low - 1].off + in[low - 1].size;
	return (uint64_t)r->off + r->size <= end;
}

static int check_numbers(const struct gsym_func *func, size_t i, const struct gsym_tables *tables, int err,
			 struct gsym_diag *diag)
{
	const struct gsym_inline *node = &func->inlines[i];
	uint32_t above = i ? func->inlines[i - 1].depth : 0;
	if (node->depth == 0 || node->depth > above + 1)
		return bad_node(diag, err, i, "depth does not follow from the node before");
	if (node->depth > INLINE_DEPTH_MAX)
		return bad_node(diag, err, i, "nested too deeply");
	if (!tables_have_string(tables, node->name))
		return bad_node(diag, err, i, "name past the string table");
	if (!tables_have_file(tables, node->call_file))
		return bad_node(diag, err, i, "call file past the file table");
	if (!node->n_ranges || node->first_range > func->n_ranges ||
	    node->n_ranges > func->n_ranges - node->first_range)
		return bad_node(diag, err, i, "no ranges");
	if (!ranges_ascend(&func->ranges[node->first_range], node->n_ranges))
		return bad_node(diag, err, i, "ranges are empty, overlap or descend");
	return 0;
}

static int check_within(const struct gsym_func *func, size_t i, const struct gsym_range *in, size_t n,
			int err, struct gsym_diag *diag)
{
	const struct gsym_inline *node = &func->inlines[i];
	for (size_t k = 0; k < node->n_ranges; k++) {
		if (!range_within(&func->ranges[node->first_range + k], in, n))
			return bad_node(diag, err, i, "range outside those of its parent");
	}
	return 0;
}

int inline_check(const struct gsym_func *func, const struct gsym_tables *tables, int err,
		 struct gsym_diag *diag)
{
	const struct gsym_inline *path[INLINE_DEPTH_MAX + 1]; /* by depth: the ancestors of the next node */
	const struct gsym_range root = {0, func->size};
	for (size_t i = 0; i < func->n_inlines; i++) {
		const struct gsym_inline *node = &func->inlines[i];
		int bad = check_numbers(func, i, tables, err, diag);
		if (bad)
			return bad;
		path[node->depth] = node;
		if (node->depth == 1)
			bad = check_within(func, i, &root, 1, err, diag);
		else
			bad = check_within(func, i, &func->ranges[path[node->depth - 1]->first_range],
					   path[node->depth - 1]->n_ranges, err, diag);
		if (bad)
			return bad;
	}
	return 0;
}

/* ---- Writing ---- */

/* The tree in preorder, each list of siblings closed by a zero. */

static void put_ranges(struct buf *out, const struct gsym_range *r, size_t n, uint32_t base)
{
	buf_uleb(out, n);
	for (size_t i = 0; i < n; i++) {
		buf_uleb(out, r[i].off - base);
		buf_uleb(out, r[i].size);
	}
}

int inline_encode(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables,
		  struct gsym_diag *diag)
{
	uint32_t bases[INLINE_DEPTH_MAX + 2]; /* by depth; larger ones are set by the nodes above */
	bases[1] = 0;
	int err = inline_check(func, tables, -EINVAL, diag);
	if (err)
		return err;
	/* The root stands for the function itself: its range and name, without a call site. */
	struct gsym_range whole = {0, func->size};
	put_ranges(out, &whole, 1, 0);
	buf_u8(out, 1);
	buf_uint(out, func->name, tables->strp_size);
	buf_uleb(out, 0);
	buf_uleb(out, 0);
	for (size_t i = 0; i < func->n_inlines; i++) {
		const struct gsym_inline *node = &func->inlines[i];
		const struct gsym_range *ranges = &func->ranges[node->first_range];
		uint32_t next = i + 1 < func->n_inlines ? node[1].depth : 0;
		put_ranges(out, ranges, node->n_ranges, bases[node->depth]);
		bases[node->depth + 1] = ranges[0].off;
		buf_u8(out, next > node->depth);
		buf_uint(out, node->name, tables->strp_size);
		buf_uleb(out, node->call_file);
		buf_uleb(out, node->call_line);
		/* one zero for each list that ends here, the node's own included */
		if (next <= node->depth)
			buf_zeros(out, node->depth - next);
	}
	return buf_ok(out) ? 0 : diag_set(diag, -ENOMEM, "inline info: no memory");
}
