/*
 * verify_die.c - one walk over the entries of a unit. A subprogram opens a function, inlined subroutines are
 * added to the innermost open function, and lexical blocks are transparent.
 */
#include "convert/verify/verify_parts.h"

enum { DEPTH_MAX = 200 }; /* nesting of entries; libdwarf itself recurses nowhere */

struct verify_walk {
	struct dw *dw;
	verify_visit *visit;
	void *user;
};

/*
 * Appends a node for @die. Without code of its own (a declaration, an abstract instance) nothing is appended.
 */
static int append_node(struct verify_walk *walk, struct verify_function *function, Dwarf_Die die,
		       uint32_t depth)
{
	struct verify_node node = {.first_range = function->ranges.n, .depth = depth};
	struct verify_range_list ranges = {0};
	int err = verify_attr_ranges(walk->dw, die, &ranges);
	for (size_t i = 0; !err && i < ranges.n; i++)
		err = vec_push(&function->ranges, ranges.v[i]);
	node.n_ranges = ranges.n;
	vec_free(&ranges);
	if (err || node.n_ranges == 0)
		return err;
	node.name = verify_attr_name(walk->dw, die);
	node.call_file = verify_attr_number(walk->dw, die, DW_AT_call_file);
	node.call_line = verify_attr_number(walk->dw, die, DW_AT_call_line);
	return vec_push(&function->nodes, node);
}

static int walk_children(struct verify_walk *walk, Dwarf_Die parent, struct verify_function *function,
			 uint32_t depth, unsigned nesting);

static int walk_function(struct verify_walk *walk, Dwarf_Die die, unsigned nesting)
{
	struct verify_function function = {0};
	int err = append_node(walk, &function, die, 0);
	if (!err)
		err = walk_children(walk, die, &function, 0, nesting);
	if (!err && function.nodes.n && function.nodes.v[0].depth == 0)
		err = walk->visit(walk->user, &function);
	vec_free(&function.nodes);
	vec_free(&function.ranges);
	return err;
}

/* @depth is that of the node whose children these are. A call without code takes its own calls along. */
static int walk_inlined(struct verify_walk *walk, Dwarf_Die die, struct verify_function *function,
			uint32_t depth, unsigned nesting)
{
	size_t before = function->nodes.n;
	int err = append_node(walk, function, die, depth + 1);
	if (err || function->nodes.n == before)
		return err;
	return walk_children(walk, die, function, depth + 1, nesting);
}

static int walk_die(struct verify_walk *walk, Dwarf_Die die, struct verify_function *function, uint32_t depth,
		    unsigned nesting)
{
	Dwarf_Half tag = 0;
	Dwarf_Error error = NULL;
	if (!dw_ok(walk->dw, dwarf_tag(die, &tag, &error), &error))
		return 0;
	if (tag == DW_TAG_subprogram)
		return walk_function(walk, die, nesting);
	if (tag == DW_TAG_inlined_subroutine && function && function->nodes.n)
		return walk_inlined(walk, die, function, depth, nesting);
	return walk_children(walk, die, function, depth, nesting);
}

static int walk_children(struct verify_walk *walk, Dwarf_Die parent, struct verify_function *function,
			 uint32_t depth, unsigned nesting)
{
	Dwarf_Die die = NULL, next = NULL;
	Dwarf_Error error = NULL;
	int err = 0;
	if (nesting >= DEPTH_MAX) {
		walk->dw->skipped++;
		return 0;
	}
	bool more = dw_ok(walk->dw, dwarf_child(parent, &die, &error), &error);
	while (more) {
		err = walk_die(walk, die, function, depth, nesting + 1);
		more = !err &&
		       dw_ok(walk->dw, dwarf_siblingof_b(walk->dw->dbg, die, 1, &next, &error), &error);
		dwarf_dealloc_die(die);
		die = next;
	}
	return err;
}

int verify_walk(struct dw *dw, Dwarf_Die cu_die, verify_visit *visit, void *user)
{
	struct verify_walk walk = {dw, visit, user};
	return walk_children(&walk, cu_die, NULL, 0, 0);
}
