/*
 * build_inline.c - the inline tree of one range of a function.
 *
 * A function split over several ranges gives one record for each, and each takes the part of the tree that
 * lies in it. A node keeps those of its ranges that a kept range of its parent contains; one that is left with
 * none goes, and its children with it.
 */
#include "builder.h"

/* Ranges of the nearest kept ancestors: kept.v[first, end), and all ranges the ancestor ever had. */
struct level {
	uint32_t first, end;
	uint32_t all_first, all_n; /* in builder->ranges */
};

static bool contained(const struct range *v, size_t n, struct range r)
{
	range_vec set = {.v = (struct range *)v, .n = n, .cap = n};
	const struct range *host = ranges_find(&set, r.lo);
	return host && r.hi <= host->hi;
}

/* Also for unsorted ranges: those of a function are as its list has them. */
static bool contained_anywhere(const struct range *v, size_t n, struct range r)
{
	for (size_t i = 0; i < n; i++)
		if (r.lo >= v[i].lo && r.hi <= v[i].hi)
			return true;
	return false;
}

static bool in_other_part(const struct builder *b, const struct level *parent, bool top, struct range r)
{
	const struct range *all = b->ranges.v + parent->all_first;
	return top ? contained_anywhere(all, parent->all_n, r) : contained(all, parent->all_n, r);
}

/* Copies the ranges of @node that its parent contains to b->kept: their number, or -ENOMEM. */
static int keep_ranges(struct builder *b, const struct node *node, const struct level *parent, bool top)
{
	size_t before = b->kept.n;
	bool outside = false;
	for (uint32_t i = 0; i < node->n_ranges; i++) {
		struct range r = b->ranges.v[node->first_range + i];
		if (contained(b->kept.v + parent->first, parent->end - parent->first, r)) {
			if (vec_push(&b->kept, r))
				return -ENOMEM;
		} else if (!in_other_part(b, parent, top, r)) {
			outside = true;
		}
	}
	if (outside)
		oddity_count(&b->odd, ODD_INLINE_RANGE, ".debug_info", node->die_off);
	return (int)(b->kept.n - before);
}

static int node_call_file(struct builder *b, const struct node *node, uint32_t *ret)
{
	*ret = 0;
	int err = node->has_call_file ? builder_file(b, node->call_file, ret)
		  : b->context->match_llvm ? -ENOENT : 0;
	if (err == -ENOENT)
		oddity_count(&b->odd, ODD_CALL_FILE, ".debug_info", node->die_off);
	return err;
}

/* Appends the node with its last @n kept ranges. -ENOENT: its call file is bad. */
static int emit_node(struct builder *b, const struct node *node, uint64_t lo, uint32_t n)
{
	struct name_slot name;
	uint32_t file;
	int err = node_call_file(b, node, &file);
	if (!err)
		err = builder_name(b, node->name_key, &name);
	if (err)
		return err;
	struct gsym_inline out = {
		.name = name.string,
		.call_file = file,
		.call_line = (uint32_t)node->call_line,
		.depth = node->depth,
		.first_range = (uint32_t)b->inline_ranges.n,
		.n_ranges = n,
	};
	for (size_t i = b->kept.n - n; i < b->kept.n; i++) {
		struct range r = b->kept.v[i];
		if (vec_push(&b->inline_ranges, (struct gsym_range){(uint32_t)(r.lo - lo), (uint32_t)(r.hi - r.lo)}))
			return -ENOMEM;
	}
	return vec_push(&b->inlines, out);
}

int builder_inlines(struct builder *b, uint32_t body_index, uint64_t lo, uint64_t hi)
{
	const struct body *body = &b->bodies.v[body_index];
	struct level levels[DIE_DEPTH_MAX + 1];
	uint32_t dropped = UINT32_MAX; /* depth of the dropped node whose descendants are being passed */
	b->inlines.n = b->inline_ranges.n = b->kept.n = 0;
	if (vec_push(&b->kept, (struct range){lo, hi}))
		return -ENOMEM;
	levels[0] = (struct level){0, 1, body->first_range, body->n_ranges};
	for (uint32_t i = body->first_node; i < body->end_node; i++) {
		const struct node *node = &b->nodes.v[i];
		if (node->body != body_index || node->depth > dropped)
			continue;
		const struct level *parent = &levels[node->depth - 1];
		b->kept.n = parent->end;
		int n = keep_ranges(b, node, parent, node->depth == 1);
		int err = n > 0 ? emit_node(b, node, lo, (uint32_t)n) : n ? n : -ENOENT;
		if (err && err != -ENOENT)
			return err;
		dropped = err ? node->depth : UINT32_MAX;
		levels[node->depth] = (struct level){(uint32_t)(b->kept.n - (size_t)(n > 0 ? n : 0)), (uint32_t)b->kept.n,
						     node->first_range, node->n_ranges};
	}
	return 0;
}
