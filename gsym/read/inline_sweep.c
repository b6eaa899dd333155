/*
 * One pass over inline info for many addresses.
 *
 * A lookup descends from the root: on each level the first sibling that contains the address takes it.
 * Here a level is an ascending list of points; each node removes from the list of its parent the points
 * that its ranges contain, and these become the list of its children. Removed points are skipped by links
 * with path compression, as in a union-find structure, so that overlapping siblings cost no more than
 * others: the time is one search for each range and one step for each point on each level.
 *
 * A point is settled when it was taken by a node without children, or when the list of children of the
 * last node that took it has ended: its lookup reads no further. Points that are not settled where the
 * bytes are damaged would have met the damage.
 */
#include "gsym/read/intervals.h"

#include "gsym/base/invariant.h"
#include "gsym/base/search.h"
#include "gsym/base/sort.h"

#include <errno.h>

#include "gsym/codec/inline_node.h"

enum {
	INSERTION_MAX = 24,
	LISTS_MAX = 1 << 20, /* entries of all levels: INTERVALS_AT_MAX points on every one fit */
};

/* ---- Offsets ---- */

bool offsets_ascend(const uint32_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v[i] < v[i - 1])
			return false;
	return true;
}

static void insertion_sort(uint32_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		uint32_t off = v[i];
		size_t k = i;
		for (; k && v[k - 1] > off; k--)
			v[k] = v[k - 1];
		v[k] = off;
	}
}

int offsets_sort(struct offset_list *list, size_t from, struct offset_list *scratch)
{
	uint32_t *v = list->v + from;
	size_t n = list->n - from;
	if (n <= INSERTION_MAX) {
		insertion_sort(v, n);
		return 0;
	}
	if (offsets_ascend(v, n))
		return 0;
	scratch->n = 0;
	if (vec_reserve(scratch, n))
		return -ENOMEM;
	sort_u32(v, scratch->v, n, 0);
	return 0;
}

/* ---- Levels ---- */

struct inline_sweep {
	struct interval_set *s;
	struct cursor c;
	const struct gsym_tables *tables;
	unsigned depth; /* of the nodes to read next; their parent is levels[depth] */
	size_t open;    /* points that are not settled */
};

static struct sweep_level *parent_of(struct inline_sweep *w)
{
	return &w->s->levels[w->depth];
}

/* The first entry at or after @at that no child took. */
static size_t untaken(const struct interval_set *s, const struct sweep_level *level, size_t at)
{
	uint32_t *next = s->next.v + level->from;
	while (next[at] != at) {
		next[at] = next[next[at]];
		at = next[at];
	}
	return at;
}

static size_t first_not_before(const struct interval_set *s, const struct sweep_level *level, uint64_t off)
{
	const uint32_t *points = s->points.v + level->from;
	return PARTITION_POINT(0, level->n, mid, s->v.v[points[mid]].off < off);
}

/* Moves points of the parent in [start, start + size) to the list at the top, which is that of @node. */
static int take_range(struct inline_sweep *w, uint64_t start, uint64_t size, uint32_t node)
{
	struct interval_set *s = w->s;
	struct sweep_level *level = parent_of(w);
	if (!level->left || !size)
		return 0;
	size_t at = untaken(s, level, first_not_before(s, level, start));
	while (at < level->n) {
		uint32_t point = s->points.v[level->from + at];
		if (s->v.v[point].off - start >= size)
			break;
		if (vec_push(&s->points, point))
			return -ENOMEM;
		if (s->v.v[point].node != INTERVAL_DAMAGED)
			s->v.v[point].node = node;
		s->next.v[level->from + at] = (uint32_t)at + 1;
		level->left--;
		at = untaken(s, level, at + 1);
	}
	at = untaken(s, level, 0);
	level->first = at < level->n ? s->v.v[s->points.v[level->from + at]].off : UINT64_MAX;
	return s->points.n > LISTS_MAX ? -E2BIG : 0;
}

static int take_ranges(struct inline_sweep *w, uint64_t n, uint32_t node, uint64_t *ret_first)
{
	struct cursor c = w->c;
	int err = 0;
	for (uint64_t i = 0; i < n && !err; i++) {
		struct cursor at = c;
		uint64_t start = leb_unsigned(&at) + parent_of(w)->base, size = leb_unsigned(&at);
		leb_skip_pair(&c);
		*ret_first = i ? *ret_first : start;
		err = take_range(w, start, size, node);
	}
	w->c = c;
	return err;
}

/* Skips the ranges of a node that cannot contain a point. */
static void skip_ranges(struct inline_sweep *w, uint64_t n)
{
	struct cursor c = w->c;
	for (uint64_t i = 0; i < n; i++)
		leb_skip_pair(&c);
	w->c = c;
}

static void damage(struct interval_set *s, size_t from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s->v.v[s->points.v[from + i]].node = INTERVAL_DAMAGED;
}

/* Nothing can be read any more: damages points which are not settled, and those of the node being read, from
 * @from on. */
static void damage_open(struct inline_sweep *w, size_t from)
{
	struct interval_set *s = w->s;
	damage(s, from, s->points.n - from);
	for (unsigned d = 0; d <= w->depth; d++) {
		const struct sweep_level *level = &s->levels[d];
		for (size_t i = untaken(s, level, 0); i < level->n; i = untaken(s, level, i + 1))
			damage(s, level->from + i, 1);
	}
}

/* Makes the points from @from on the list of a level. */
static int open_level(struct inline_sweep *w, size_t from, uint32_t node, uint64_t base)
{
	struct interval_set *s = w->s;
	size_t n = s->points.n - from;
	/* One entry more than points, so that both arrays have the same indexes. */
	if (vec_push(&s->points, 0) || vec_reserve(&s->next, s->points.n - s->next.n))
		return -ENOMEM;
	for (size_t i = 0; i <= n; i++)
		s->next.v[from + i] = (uint32_t)i;
	s->next.n = s->points.n;
	invariant(offsets_ascend(s->points.v + from, n)); /* first_not_before() searches them */
	*parent_of(w) = (struct sweep_level){
		.from = from,
		.n = n,
		.left = n,
		.first = n ? s->v.v[s->points.v[from]].off : UINT64_MAX,
		.last = n ? s->v.v[s->points.v[from + n - 1]].off : 0,
		.node = node,
		.base = base,
	};
	return 0;
}

static void close_level(struct inline_sweep *w)
{
	struct sweep_level *level = parent_of(w);
	w->open -= w->depth ? level->left : 0;
	w->s->points.n = w->s->next.n = level->from;
}

static int add_node(struct interval_set *s, const struct inline_node *node, uint32_t parent)
{
	return vec_push(&s->nodes, (struct interval_node){node->name, node->first, (uint32_t)node->call_file,
							  node->call_line, parent});
}

/*
 * Points before the first range of their node, contained in other ranges of it: the base of its children
 * cannot be computed for them.
 */
static void damage_before_first(struct interval_set *s, size_t from, uint64_t first)
{
	for (size_t i = from; i < s->points.n && s->v.v[s->points.v[i]].off < first; i++)
		damage(s, i, 1);
}

/*
 * Reads the fields after the ranges of a node that took the points from @from on: whether it has children.
 * A malformed node answers for none of its points, but other lookups skip it.
 */
static int enter(struct inline_sweep *w, size_t from, uint64_t first, bool *ret_has_children)
{
	struct interval_set *s = w->s;
	struct inline_node node = {.first = first};
	struct cursor strict = w->c;
	read_node(&strict, w->tables, &node);
	if (!cursor_ok(&strict)) {
		damage(s, from, s->points.n - from);
		w->open -= s->points.n - from;
		s->points.n = from;
		*ret_has_children = skip_node(&w->c, w->tables->strp_size);
		return 0;
	}
	w->c = strict;
	*ret_has_children = node.has_children;
	if (w->depth == 0)
		return 0;
	return add_node(s, &node, parent_of(w)->node);
}

/* Reads a node with @n ranges. */
static int read_one(struct inline_sweep *w, uint64_t n)
{
	struct interval_set *s = w->s;
	size_t from = s->points.n;
	uint32_t number = w->depth ? (uint32_t)s->nodes.n : 0;
	uint64_t first = 0;
	bool has_children;
	int err = 0;
	if (w->depth == 0 || parent_of(w)->left)
		err = take_ranges(w, n, number, &first);
	else
		skip_ranges(w, n);
	if (err || !cursor_ok(&w->c)) {
		damage_open(w, from);
		return err ? err : 1;
	}
	if (offsets_sort(&s->points, from, &s->sorted)) /* ranges that descend are damaged */
		return -ENOMEM;
	if (w->depth == 0) { /* others are settled */
		w->open = s->points.n - from;
		parent_of(w)->n = 0;
	}
	if (s->points.n > from) {
		damage_before_first(s, from, first);
		err = enter(w, from, first, &has_children);
	} else {
		has_children = skip_node(&w->c, w->tables->strp_size);
	}
	if (err)
		return err;
	if (cursor_ok(&w->c) && has_children && w->depth < INLINE_DEPTH_MAX) {
		w->depth++;
		return open_level(w, from, number, first);
	}
	if (cursor_ok(&w->c)) {
		w->open -= s->points.n - from;
		s->points.n = from;
	}
	if (has_children)
		skip_children(&w->c, w->tables->strp_size);
	if (cursor_ok(&w->c))
		return 0;
	damage_open(w, from);
	return 1;
}

/*
 * Passes over a node with @n ranges that contain no point, and over its children. False, and nothing read,
 * when they may contain one, or for damaged bytes.
 */
static bool pass(struct inline_sweep *w, uint64_t n)
{
	const struct sweep_level *level = parent_of(w);
	uint64_t base = level->base, first = level->first, last = level->last;
	struct cursor c = w->c;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t start = leb_unsigned(&c) + base, size = leb_unsigned(&c);
		if (start <= last && (start >= first || first - start < size))
			return false;
	}
	if (skip_node(&c, w->tables->strp_size))
		skip_children(&c, w->tables->strp_size);
	if (!cursor_ok(&c))
		return false;
	w->c = c;
	return true;
}

int inline_sweep(struct interval_set *s, struct cursor block, const struct gsym_tables *tables)
{
	struct inline_sweep w = {.s = s, .c = block, .tables = tables, .open = s->v.n};
	s->points.n = s->next.n = 0;
	for (uint32_t i = 0; i < s->v.n; i++)
		if (vec_push(&s->points, i))
			return -ENOMEM;
	int err = open_level(&w, 0, 0, 0);
	do {
		if (err || !w.open)
			break;
		uint64_t n = read_n_ranges(&w.c);
		if (!cursor_ok(&w.c)) {
			damage_open(&w, s->points.n);
			break;
		}
		if (n) {
			err = w.depth && pass(&w, n) ? 0 : read_one(&w, n);
			continue;
		}
		close_level(&w);
		w.depth -= w.depth > 0;
	} while (w.depth);
	return err < 0 ? err : 0;
}

int inline_offsets(struct cursor block, const struct gsym_tables *tables, uint32_t last,
		   struct offset_list *out)
{
	uint64_t bases[INLINE_DEPTH_MAX + 1]; /* of the nodes of each level */
	unsigned depth = 0;
	bases[0] = 0;
	do {
		uint64_t n = read_n_ranges(&block), first = 0;
		if (vec_reserve(out, 2 * n))
			return -ENOMEM;
		for (uint64_t i = 0; i < n; i++) {
			struct cursor at = block;
			uint64_t start = leb_unsigned(&at) + bases[depth], size = leb_unsigned(&at), end;
			leb_skip_pair(&block);
			first = i ? first : start;
			if (start <= last)
				out->v[out->n++] = (uint32_t)start;
			if (!__builtin_add_overflow(start, size, &end) && end <= last)
				out->v[out->n++] = (uint32_t)end;
		}
		if (!n) {
			depth -= depth > 0;
		} else if (skip_node(&block, tables->strp_size)) {
			if (depth < INLINE_DEPTH_MAX)
				bases[++depth] = first;
			else
				skip_children(&block, tables->strp_size);
		}
	} while (depth && cursor_ok(&block));
	return 0;
}
