/* verify_die.h - what libdwarf says about functions: names, ranges, and what was inlined into them. */
#ifndef CONVERT_VERIFY_VERIFY_DIE_H
#define CONVERT_VERIFY_VERIFY_DIE_H

#include "convert/verify/verify_attr.h"
#include "gsym/base/vec.h"

/* The function itself, or a call inlined into it. */
struct verify_node {
	struct verify_name name;
	uint64_t call_file, call_line; /* 0 = not known */
	size_t first_range, n_ranges;
	uint32_t depth; /* 0 = the function itself */
};

/* A concrete function: nodes in preorder, node 0 the function. */
struct verify_function {
	VEC(struct verify_node) nodes;
	VEC(struct verify_range) ranges;
};

/* The ranges of node @index. */
static inline const struct verify_range *verify_ranges(const struct verify_function *function, size_t index)
{
	return function->ranges.v + function->nodes.v[index].first_range;
}

typedef int verify_visit(void *user, const struct verify_function *function);

/*
 * Calls @visit for every function with code below @cu_die, innermost nested ones first. 0, -ENOMEM, or what
 * @visit returned first that was not 0.
 */
int verify_walk(struct dw *dw, Dwarf_Die cu_die, verify_visit *visit, void *user);

#endif
