/*
 * breakpad_call_file.c - the files of calls in INLINE records of before 2021, which have a line only.
 *
 * A call stands in the file of the function that makes it. For a function that is itself inlined that is the
 * file of its INLINE_ORIGIN, if the record has one; else, and for the function that all are inlined into, the
 * file of the first line record that no call in it covers. Where all of its code belongs to such calls, it is
 * the file of the line record at the call.
 *
 * The pieces of one level ascend, and those of the next level lie within them: one sweep over both finds the
 * code of each call that is its own.
 */
#include "convert/breakpad/breakpad.h"

#include "gsym/base/search.h"

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

static void find_own_files(struct own_files *f)
{
	struct breakpad_tree *t = f->tree;
	size_t end = level_end(t, 0), at = 0;
	visit_piece(f, (struct breakpad_range){0, f->rows->size, NO_NODE, NO_NODE}, &at, end);
	for (size_t first = 0, below; first < t->kept.n; first = end, end = below) {
		below = level_end(t, end);
		at = end;
		for (size_t i = first; i < end; i++)
			visit_piece(f, t->kept.v[i], &at, below);
	}
}

static uint32_t call_file(const struct own_files *f, const struct breakpad_node *node)
{
	const struct breakpad_tree *t = f->tree;
	uint32_t file = node->parent == NO_NODE ? f->function : t->nodes.v[node->parent].own_file;
	const struct breakpad_range *first = &t->kept.v[node->first];
	return file ? file : first_file(f->rows, first->lo, first->hi);
}

void breakpad_call_files(struct breakpad_tree *t, const struct breakpad_rows *rows)
{
	struct own_files f = {.tree = t, .rows = rows};
	bool any = false;
	for (size_t i = 0; i < t->nodes.n && !any; i++)
		any = !t->nodes.v[i].has_call_file && t->nodes.v[i].first != NO_NODE;
	if (!any)
		return;
	find_own_files(&f);
	for (size_t i = 0; i < t->nodes.n; i++) {
		struct breakpad_node *node = &t->nodes.v[i];
		if (!node->has_call_file && node->first != NO_NODE)
			node->call_file = call_file(&f, node);
	}
}
