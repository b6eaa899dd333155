/*
 * inline_tree.c - where Go's inline trees are, and their nodes.
 *
 * A tree is an array of nodes, a caller before the calls in it. The number of its offset in an entry, and
 * what a node has, changed more often than the table's magic number: runtime/funcdata.h and "inlinedCall" of
 * runtime/symtab.go. Of several possible layouts the one is taken with which the first trees begin like one:
 * with a call in the function itself.
 */
#include "convert/golang/pclntab.h"

#include "gsym/base/cursor.h"

enum {
	TREES_TRIED = 64,        /* trees that must be possible, */
	TREES_DAMAGED = 3,       /* and for one that is not, more than so many others */
	FUNCTIONS_TRIED = 65536, /* functions looked at to find so many */
	FILE_OFF = 4,            /* of nodes with parent */
	LINE_OFF = 8,
};

static const struct tree_layout layouts[] = {
	{PCLNTAB_GO120, .pcdata = 2, .funcdata = 3, .node_size = 16, .name = 4, .parent_pc = 8},
	{PCLNTAB_GO118, 2, 3, 20, .parent_size = 2, .name = 12, .parent_pc = 16},
	{PCLNTAB_GO116, 2, 3, 20, .parent_size = 2, .name = 12, .parent_pc = 16},
	{PCLNTAB_GO12, 2, 4, 20, .parent_size = 2, .name = 12, .parent_pc = 16},    /* Go 1.13 */
	{PCLNTAB_GO12, 1, 2, 20, .parent_size = 2, .name = 12, .parent_pc = 16},    /* 1.12 */
	{PCLNTAB_GO12, 1, 2, 16, .parent_size = 4, .name = 12, .wide_count = true}, /* 1.9 */
};

/* ---- Nodes ---- */

uint64_t inline_node_count(const struct pclntab *t, const struct go_function *f)
{
	uint64_t off = f->tree - t->trees_addr;
	return f->tree && off < t->trees.size ? (t->trees.size - off) / t->layout->node_size : 0;
}

static struct cursor node_cursor(const struct pclntab *t, const struct go_function *f, uint32_t index)
{
	struct cursor c = cursor_new(t->trees.data, t->trees.size, t->object->big_endian);
	cursor_seek(&c, f->tree - t->trees_addr + (uint64_t)index * t->layout->node_size);
	return cursor_window(&c, t->layout->node_size);
}

static uint32_t node_u32(const struct cursor *node, unsigned off)
{
	struct cursor c = *node;
	cursor_skip(&c, off);
	return cursor_u32(&c);
}

/* Numbers of nodes above INT16_MAX, whose caller may be such a one, do not fit where a parent has 2 bytes. */
static void read_parent(const struct tree_layout *l, struct cursor c, uint32_t index,
			struct go_inline_node *ret)
{
	ret->has_place = l->parent_size;
	ret->has_parent = l->parent_size == 4 || (l->parent_size == 2 && index <= INT16_MAX);
	if (!ret->has_place)
		return;
	ret->parent = l->parent_size == 4 ? (int32_t)cursor_u32(&c) : (int16_t)cursor_u16(&c);
}

bool inline_node_read(const struct pclntab *t, const struct go_function *f, uint32_t index,
		      struct go_inline_node *ret)
{
	const struct tree_layout *l = t->layout;
	*ret = (struct go_inline_node){.has_parent_pc = l->parent_pc};
	if (index >= inline_node_count(t, f))
		return false;
	const struct cursor c = node_cursor(t, f, index);
	read_parent(l, c, index, ret);
	ret->file = ret->has_place ? (int32_t)node_u32(&c, FILE_OFF) : 0;
	ret->line = ret->has_place ? (int32_t)node_u32(&c, LINE_OFF) : 0;
	ret->name_off = node_u32(&c, l->name);
	ret->parent_pc = ret->has_parent_pc ? node_u32(&c, l->parent_pc) : 0;
	ret->name = pclntab_name(t, ret->name_off);
	return ret->name && *ret->name && ret->parent_pc < f->limit - f->start;
}

/* ---- Finding them ---- */

/* Whether the tree of @f begins with a possible node. Names have a table of their own since Go 1.16. */
static bool tree_is_possible(const struct pclntab *t, const struct go_function *f)
{
	struct go_inline_node node;
	if (!inline_node_read(t, f, 0, &node))
		return false;
	if (t->version > PCLNTAB_GO12 && node.name_off && node.name[-1])
		return false;
	/* What follows two bytes of parent is the kind of function and a zero. */
	const struct cursor c = node_cursor(t, f, 0);
	uint32_t first = node_u32(&c, 0);
	bool zero = t->layout->parent_size != 2 || !(t->object->big_endian ? first & 0xff : first >> 24);
	return !node.has_place || (node.parent == -1 && zero && node.file >= 0 && node.line >= 0);
}

/* Returns whether functions name trees, and of the first ones only a few are damaged. */
static bool trees_are_possible(const struct pclntab *t)
{
	unsigned tried = 0, possible = 0;
	for (uint64_t i = 0; i < t->n_functions && i < FUNCTIONS_TRIED && tried < TREES_TRIED; i++) {
		struct go_function f;
		if (!pclntab_function(t, i, &f) || !f.call_values)
			continue;
		possible += tree_is_possible(t, &f);
		tried++;
	}
	return possible > (tried - possible) * TREES_DAMAGED;
}

static void forget_trees(struct pclntab *t)
{
	t->layout = NULL;
	t->trees = (struct span){0};
	t->trees_addr = t->trees_base = 0;
}

bool inline_trees_at(struct pclntab *t, uint64_t base)
{
	t->layout = t->version == PCLNTAB_GO120 ? &layouts[0] : &layouts[1];
	t->trees = object_bytes_at(t->object, base);
	t->trees_addr = t->trees_base = base;
	if (t->trees.size && trees_are_possible(t))
		return true;
	forget_trees(t);
	return false;
}

/* Sets t->trees to the area with the first tree that a function names. */
static bool find_area(struct pclntab *t)
{
	struct go_function f = {0};
	struct data_area area;
	for (uint64_t i = 0; i < t->n_functions && i < FUNCTIONS_TRIED && !f.tree; i++)
		if (!pclntab_function(t, i, &f))
			f.tree = 0;
	struct area_walk walk = area_walk_of(t->object);
	while (f.tree && next_area(&walk, &area)) {
		t->trees = area.bytes;
		t->trees_addr = area.addr;
		if (f.tree - area.addr < area.bytes.size)
			return true;
	}
	return false;
}

void inline_trees_find(struct pclntab *t)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		t->layout = &layouts[i];
		if (layouts[i].version == t->version && find_area(t) && trees_are_possible(t))
			return;
	}
	forget_trees(t);
}

/* Returns whether a function has values for calls, where t->layout has them. */
static bool names_trees(const struct pclntab *t)
{
	struct go_function f;
	for (uint64_t i = 0; i < t->n_functions && i < FUNCTIONS_TRIED; i++)
		if (pclntab_function(t, i, &f) && f.call_values)
			return true;
	return false;
}

bool inline_trees_are_lost(struct pclntab *t)
{
	bool lost = false;
	if (t->layout)
		return false;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts) && !lost; i++) {
		t->layout = &layouts[i];
		lost = layouts[i].version == t->version && names_trees(t);
	}
	forget_trees(t);
	return lost;
}
