/*
 * breakpad_inline.c - from INLINE records, in any order, to an inline tree.
 *
 * A record has its depth but not its parent, which is the call one level up that contains its ranges. Level
 * by level, ranges are sorted, made disjoint and clipped to those of the level above by a merge of both
 * sorted lists. A record whose ranges lie in several calls becomes a node below each of them. The numbers of
 * pieces and of nodes are bounded. O(n log n) for any input.
 */
#include "convert/breakpad/breakpad.h"

#include "gsym/base/search.h"

enum {
	PIECES_PER_RANGE = 2, /* pieces of a range, on average, which may each need a node */
	PIECES_ALWAYS = 4096,
};

void breakpad_tree_free(struct breakpad_tree *t)
{
	vec_free(&t->nodes);
	vec_free(&t->ranges);
	vec_free(&t->kept);
	vec_free(&t->inlines);
	vec_free(&t->out);
	vec_free(&t->order);
}

struct tree_level {
	size_t first, end; /* in tree->kept */
};

static void drop(struct breakpad_tree *t, uint32_t node, enum warning kind, struct warnings *warnings)
{
	warning_count(warnings, kind, "file", t->nodes.v[node].off);
}

/* ---- One level ---- */

static int compare_range(const void *a, const void *b)
{
	const struct breakpad_range *x = a, *y = b;
	return COMPARE(x->lo, y->lo) ?: COMPARE(x->node, y->node) ?: COMPARE(x->hi, y->hi);
}

/* Ascending and disjoint: of two calls on one level that claim the same code, the first keeps it. Returns the
 * new number. */
static size_t make_disjoint(struct breakpad_range *v, size_t n)
{
	size_t kept = 0;
	uint32_t reach = 0;
	qsort(v, n, sizeof(*v), compare_range);
	for (size_t i = 0; i < n; i++) {
		struct breakpad_range r = v[i];
		r.lo = r.lo > reach ? r.lo : reach;
		if (r.lo >= r.hi)
			continue;
		reach = r.hi;
		v[kept++] = r;
	}
	return kept;
}

/* Appends the piece [lo, hi) of @r, which lies in the node @parent. */
static int keep_piece(struct breakpad_tree *t, const struct breakpad_range *r, uint32_t parent, uint32_t lo,
		      uint32_t hi)
{
	return vec_push(&t->kept, (struct breakpad_range){lo, hi, r->node, parent});
}

/* Cuts @n disjoint ranges to those of the level above; both ascend. @left: pieces that may still be made. */
static int cut_level(struct breakpad_tree *t, const struct breakpad_range *v, size_t n,
		     struct tree_level above, size_t *left, struct warnings *warnings)
{
	size_t p = above.first;
	int err = 0;
	for (size_t i = 0; i < n && !err; i++) {
		while (p < above.end && t->kept.v[p].hi <= v[i].lo)
			p++;
		for (size_t k = p; k < above.end && t->kept.v[k].lo < v[i].hi && !err; k++) {
			const struct breakpad_range host = t->kept.v[k];
			if (!*left) {
				drop(t, v[i].node, WARN_BREAKPAD_LIMIT, warnings);
				return 0;
			}
			--*left;
			err = keep_piece(t, &v[i], host.node, host.lo > v[i].lo ? host.lo : v[i].lo,
					 host.hi < v[i].hi ? host.hi : v[i].hi);
		}
	}
	return err;
}

/* Calls of the outermost level lie in the function, as their ranges already do. */
static int keep_all(struct breakpad_tree *t, const struct breakpad_range *v, size_t n)
{
	int err = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = keep_piece(t, &v[i], NO_NODE, v[i].lo, v[i].hi);
	return err;
}

static int compare_depth(const void *a, const void *b, void *user)
{
	const struct breakpad_tree *t = user;
	const struct breakpad_range *x = a, *y = b;
	uint32_t dx = t->nodes.v[x->node].depth, dy = t->nodes.v[y->node].depth;
	return COMPARE(dx, dy) ?: compare_range(a, b);
}

/* ---- The nodes of one level ---- */

/* By record, then parent, then place. */
static int compare_owner(const void *a, const void *b, void *user)
{
	const struct breakpad_tree *t = user;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct breakpad_range *x = &t->kept.v[i], *y = &t->kept.v[k];
	return COMPARE(x->node, y->node) ?: COMPARE(x->next, y->next) ?: COMPARE(i, k);
}

/* Whether the pieces of some record from @first on lie in different nodes. */
static bool has_several_parents(struct breakpad_tree *t, size_t first)
{
	for (size_t i = first; i < t->kept.n; i++) {
		const struct breakpad_range *piece = &t->kept.v[i];
		struct breakpad_node *record = &t->nodes.v[piece->node];
		if (record->latest == NO_NODE)
			record->parent = piece->next;
		else if (record->parent != piece->next)
			return true;
		record->latest = piece->node;
	}
	return false;
}

/* The node of @record below @parent: the record itself, or a copy for each further parent. Pieces come parent
 * by parent. 0 or -ENOMEM. */
static int find_node(struct breakpad_tree *t, uint32_t record, uint32_t parent, uint32_t *ret)
{
	struct breakpad_node *node = &t->nodes.v[record];
	if (node->first == NO_NODE) {
		node->parent = parent;
		node->latest = record;
	}
	*ret = node->latest;
	if (t->nodes.v[*ret].parent == parent)
		return 0;
	struct breakpad_node copy = *node;
	copy.first = NO_NODE;
	copy.parent = parent;
	*ret = node->latest = (uint32_t)t->nodes.n;
	return vec_push(&t->nodes, copy);
}

static void append_piece(struct breakpad_tree *t, uint32_t piece, uint32_t at)
{
	struct breakpad_node *node = &t->nodes.v[at];
	t->kept.v[piece].node = at;
	t->kept.v[piece].next = NO_NODE;
	if (node->first == NO_NODE)
		node->first = piece;
	else
		t->kept.v[node->last].next = piece;
	node->last = piece;
}

/* Gives the pieces from @first on, whose node is a record and whose next is a parent, to nodes. */
static int make_nodes(struct breakpad_tree *t, size_t first)
{
	t->order.n = 0;
	if (vec_reserve(&t->order, t->kept.n - first))
		return -ENOMEM;
	for (size_t i = first; i < t->kept.n; i++)
		t->order.v[t->order.n++] = (uint32_t)i;
	if (has_several_parents(t, first))
		qsort_r(t->order.v, t->order.n, sizeof(*t->order.v), compare_owner, t);
	int err = 0;
	for (size_t i = 0; i < t->order.n && !err; i++) {
		uint32_t piece = t->order.v[i], node = NO_NODE;
		err = find_node(t, t->kept.v[piece].node, t->kept.v[piece].next, &node);
		if (!err)
			append_piece(t, piece, node);
	}
	return err;
}

static int place(struct breakpad_tree *t, struct warnings *warnings)
{
	struct tree_level above = {0};
	size_t left = t->ranges.n * PIECES_PER_RANGE + PIECES_ALWAYS;
	int err = 0;
	t->kept.n = 0;
	for (size_t first = 0, end; first < t->ranges.n && !err; first = end) {
		uint32_t depth = t->nodes.v[t->ranges.v[first].node].depth;
		for (end = first + 1; end < t->ranges.n && t->nodes.v[t->ranges.v[end].node].depth == depth;)
			end++;
		size_t n = make_disjoint(t->ranges.v + first, end - first), before = t->kept.n;
		bool follows = first && t->nodes.v[t->ranges.v[first - 1].node].depth + 1 == depth;
		if (!depth)
			err = keep_all(t, t->ranges.v + first, n);
		else if (follows)
			err = cut_level(t, t->ranges.v + first, n, above, &left, warnings);
		if (!err)
			err = make_nodes(t, before);
		above = (struct tree_level){before, t->kept.n};
	}
	return err;
}

/* ---- Files of calls in records of before 2021, which have a line only ---- */

/*
 * A call stands in the file of the function that makes it. For a function that is itself inlined that is the
 * file of its INLINE_ORIGIN, if the record has one; else, and for the function that all are inlined into, the
 * file of the first line record that no call in it covers. Where all of its code belongs to such calls, it is
 * the file of the line record at the call.
 *
 * The pieces of one level ascend, and those of the next level lie within them: one sweep over both finds the
 * code of each call that is its own.
 */

struct own_files {
	struct breakpad_tree *tree;
	const struct breakpad_rows *rows;
	uint32_t function; /* file of the function itself, 0 = not known */
};

/* The file of the first line in [lo, hi), or 0. */
static uint32_t first_file(const struct breakpad_rows *rows, uint32_t lo, uint32_t hi)
{
	size_t at = PARTITION_POINT(0, rows->n, mid, rows->v[mid].off <= lo);
	if (at && rows->v[at - 1].file)
		return rows->v[at - 1].file;
	return at < rows->n && rows->v[at].off < hi ? rows->v[at].file : 0;
}

/* The file of @node is that of its first line in [lo, hi), unless it is known. */
static void note_own(struct own_files *f, uint32_t node, uint32_t lo, uint32_t hi)
{
	uint32_t *file = node == NO_NODE ? &f->function : &f->tree->nodes.v[node].own_file;
	if (!*file && lo < hi)
		*file = first_file(f->rows, lo, hi);
}

/* Visits the parts of the piece @host that none of the pieces kept[*at, end) covers. */
static void visit_piece(struct own_files *f, struct breakpad_range host, size_t *at, size_t end)
{
	const struct breakpad_range *kept = f->tree->kept.v;
	uint32_t lo = host.lo;
	for (; *at < end && kept[*at].lo < host.hi; ++*at) {
		note_own(f, host.node, lo, kept[*at].lo);
		lo = kept[*at].hi;
	}
	note_own(f, host.node, lo, host.hi);
}

/* The end of the level of tree->kept that begins at @first. */
static size_t level_end(const struct breakpad_tree *t, size_t first)
{
	size_t end = first;
	while (end < t->kept.n &&
	       t->nodes.v[t->kept.v[end].node].depth == t->nodes.v[t->kept.v[first].node].depth)
		end++;
	return end;
}

static uint32_t call_file(const struct own_files *f, const struct breakpad_node *node)
{
	const struct breakpad_tree *t = f->tree;
	uint32_t file = node->parent == NO_NODE ? f->function : t->nodes.v[node->parent].own_file;
	const struct breakpad_range *first = &t->kept.v[node->first];
	return file ? file : first_file(f->rows, first->lo, first->hi);
}

/* Sets call_file of the placed nodes that have none. */
static void set_call_files(struct breakpad_tree *t, const struct breakpad_rows *rows)
{
	struct own_files f = {.tree = t, .rows = rows};
	bool any = false;
	for (size_t i = 0; i < t->nodes.n && !any; i++)
		any = !t->nodes.v[i].has_call_file && t->nodes.v[i].first != NO_NODE;
	if (!any)
		return;
	size_t end = level_end(t, 0), at = 0;
	visit_piece(&f, (struct breakpad_range){0, f.rows->size, NO_NODE, NO_NODE}, &at, end);
	for (size_t first = 0, below; first < t->kept.n; first = end, end = below) {
		below = level_end(t, end);
		at = end;
		for (size_t i = first; i < end; i++)
			visit_piece(&f, t->kept.v[i], &at, below);
	}
	for (size_t i = 0; i < t->nodes.n; i++) {
		struct breakpad_node *node = &t->nodes.v[i];
		if (!node->has_call_file && node->first != NO_NODE)
			node->call_file = call_file(&f, node);
	}
}

/* ---- The tree ---- */

static int compare_place(const void *a, const void *b, void *user)
{
	const struct breakpad_tree *t = user;
	const struct breakpad_node *x = &t->nodes.v[*(const uint32_t *)a],
				   *y = &t->nodes.v[*(const uint32_t *)b];
	uint32_t lx = t->kept.v[x->first].lo, ly = t->kept.v[y->first].lo;
	return COMPARE(lx, ly) ?: COMPARE(x->first, y->first);
}

/*
 * Links the nodes that have code to their parents, siblings ascending. *ret_child: the first without parent.
 */
static int link_nodes(struct breakpad_tree *t, uint32_t *ret_child, struct warnings *warnings)
{
	*ret_child = NO_NODE;
	t->order.n = 0;
	for (uint32_t i = 0; i < t->nodes.n; i++) {
		if (t->nodes.v[i].first == NO_NODE)
			drop(t, i, t->nodes.v[i].depth ? WARN_BREAKPAD_PARENT : WARN_INLINE_RANGE, warnings);
		else if (vec_push(&t->order, i))
			return -ENOMEM;
	}
	if (t->order.n)
		qsort_r(t->order.v, t->order.n, sizeof(*t->order.v), compare_place, t);
	for (size_t i = t->order.n; i-- > 0;) {
		struct breakpad_node *node = &t->nodes.v[t->order.v[i]];
		uint32_t *head = node->parent == NO_NODE ? ret_child : &t->nodes.v[node->parent].child;
		node->sibling = *head;
		*head = t->order.v[i];
	}
	return 0;
}

static int put_node(struct breakpad_tree *t, const struct breakpad_node *node)
{
	struct gsym_inline out = {
		.name = node->name,
		.call_file = node->call_file,
		.call_line = node->call_line,
		.depth = node->depth + 1,
		.first_range = (uint32_t)t->out.n,
	};
	for (uint32_t i = node->first; i != NO_NODE; i = t->kept.v[i].next) {
		const struct breakpad_range *r = &t->kept.v[i];
		struct gsym_range *last = t->out.n > out.first_range ? &t->out.v[t->out.n - 1] : NULL;
		if (last && last->off + last->size == r->lo)
			last->size += r->hi - r->lo;
		else if (vec_push(&t->out, (struct gsym_range){r->lo, r->hi - r->lo}))
			return -ENOMEM;
	}
	out.n_ranges = (uint32_t)t->out.n - out.first_range;
	return vec_push(&t->inlines, out);
}

/* In preorder. */
static int put_all(struct breakpad_tree *t, uint32_t node)
{
	while (node != NO_NODE) {
		if (put_node(t, &t->nodes.v[node]))
			return -ENOMEM;
		uint32_t next = t->nodes.v[node].child;
		while (next == NO_NODE && node != NO_NODE) {
			next = t->nodes.v[node].sibling;
			node = t->nodes.v[node].parent;
		}
		node = next;
	}
	return 0;
}

int breakpad_tree_make(struct breakpad_tree *t, const struct breakpad_rows *rows, struct warnings *warnings)
{
	uint32_t first;
	t->inlines.n = t->out.n = 0;
	if (!t->nodes.n)
		return 0;
	for (size_t i = 0; i < t->nodes.n; i++)
		t->nodes.v[i].parent = t->nodes.v[i].child = t->nodes.v[i].sibling = t->nodes.v[i].first =
			t->nodes.v[i].latest = NO_NODE;
	if (t->ranges.n)
		qsort_r(t->ranges.v, t->ranges.n, sizeof(*t->ranges.v), compare_depth, t);
	int err = place(t, warnings);
	if (!err)
		set_call_files(t, rows);
	if (!err)
		err = link_nodes(t, &first, warnings);
	return err ? err : put_all(t, first);
}
