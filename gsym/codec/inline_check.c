/* inline_check.c - invariants of an inline tree, which may come from a producer or from a file. */
#include "gsym/codec/inline.h"
#include "gsym/base/search.h"

#include "gsym/base/diag.h"

#include <inttypes.h>

/* Names the node and what is wrong with it. */
static int bad(struct gsym_diag *diag, int err, size_t node, const char *what)
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
		return bad(diag, err, i, "depth does not follow from the node before");
	if (node->depth > INLINE_DEPTH_MAX)
		return bad(diag, err, i, "nested too deeply");
	if (!tables_have_string(tables, node->name))
		return bad(diag, err, i, "name past the string table");
	if (!tables_have_file(tables, node->call_file))
		return bad(diag, err, i, "call file past the file table");
	if (!node->n_ranges || node->first_range > func->n_ranges ||
	    node->n_ranges > func->n_ranges - node->first_range)
		return bad(diag, err, i, "no ranges");
	if (!ranges_ascend(&func->ranges[node->first_range], node->n_ranges))
		return bad(diag, err, i, "ranges are empty, overlap or descend");
	return 0;
}

static int check_within(const struct gsym_func *func, size_t i, const struct gsym_range *in, size_t n,
			int err, struct gsym_diag *diag)
{
	const struct gsym_inline *node = &func->inlines[i];
	for (size_t k = 0; k < node->n_ranges; k++) {
		if (!range_within(&func->ranges[node->first_range + k], in, n))
			return bad(diag, err, i, "range outside those of its parent");
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
