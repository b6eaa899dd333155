/*
 * demangle_cost.c - substitutions make the tree of a C++ name a graph: each one may refer to all that came
 * before, so n of them can stand for 2^n nodes. Printing that many stops at the limit on output, but two
 * walks of libiberty's demangler print nothing:
 *
 *   - a pack expansion (Dp, sp) and the size of a pack (sZ) first search their whole pattern for the pack
 *     (d_find_pack);
 *   - the parser tries the template arguments of a conversion operator (cv) twice at each level (d_type).
 *
 * The first is measured here on the parsed tree, each node once; the second is judged by counting.
 */
#include "gsym/render/demangle/demangle_parts.h"

#include <libiberty/demangle.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	SEARCH_MAX = 1 << 14, /* nodes all searches of one name may visit */
	RETRY_MAX = 10,       /* nested template parameters with arguments, after a conversion operator */
	D_REFERENCE_MAX = 24, /* back references in a D name: each may double what it refers to */
	D_INPUT_MAX = 2048,   /* its parser recurses without a limit */
};

struct weight {
	uint32_t nodes;  /* of the expanded tree below, this one included */
	uint32_t search; /* nodes visited by searches from the pack expansions below */
};

struct demangle_tree {
	const struct demangle_component *base; /* all nodes of a name lie in one array */
	size_t count;
	struct weight *weights; /* beside them; nodes = 0 is not known yet */
};

static uint32_t sum(uint32_t a, uint32_t b)
{
	uint32_t s = a + b;
	return s < a ? UINT32_MAX : s;
}

/* Kinds whose union does not hold two more nodes: the search ends there. */
static bool is_leaf(enum demangle_component_type type)
{
	switch (type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_CTOR:
	case DEMANGLE_COMPONENT_DTOR:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_LAMBDA:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
	case DEMANGLE_COMPONENT_DEFAULT_ARG:
	case DEMANGLE_COMPONENT_FIXED_TYPE: return true;
	default: return false;
	}
}

/* A pointer that is no node of this name (a kind this code does not know) weighs nothing. */
static struct weight weigh(const struct demangle_tree *tree, const struct demangle_component *node)
{
	uintptr_t off = (uintptr_t)node - (uintptr_t)tree->base;
	if (!node || (uintptr_t)node < (uintptr_t)tree->base || off % sizeof(*node) ||
	    off / sizeof(*node) >= tree->count)
		return (struct weight){0, 0};
	struct weight *known = &tree->weights[off / sizeof(*node)];
	if (known->nodes)
		return *known;
	known->nodes = 1; /* a cycle, which the parser does not make, would end here */
	if (is_leaf(node->type))
		return *known;
	struct weight left = weigh(tree, node->u.s_binary.left), right = weigh(tree, node->u.s_binary.right);
	known->nodes = sum(1, sum(left.nodes, right.nodes));
	known->search = sum(left.search, right.search);
	if (node->type == DEMANGLE_COMPONENT_PACK_EXPANSION)
		known->search = sum(known->search, left.nodes);
	if (node->type == DEMANGLE_COMPONENT_UNARY) /* sZ looks like the other operators from here */
		known->search = sum(known->search, right.nodes);
	return *known;
}

static bool searches_affordable(const char *name)
{
	void *memory = NULL;
	struct demangle_component *root =
		cplus_demangle_v3_components(name, DMGL_PARAMS | DMGL_ANSI, &memory);
	struct demangle_tree tree = {.base = memory, .count = 2 * strlen(name)};
	tree.weights = calloc(tree.count, sizeof(*tree.weights));
	bool ok = !root || (tree.weights && weigh(&tree, root).search <= SEARCH_MAX);
	free(tree.weights);
	free(memory);
	return ok;
}

/* Counts T_I, T0_I, ...: a template parameter followed by arguments. */
static bool retries_affordable(const char *name)
{
	size_t count = 0;
	for (const char *at = name; (at = strstr(at, "_I")); at += 2) {
		const char *digit = at;
		while (digit > name &&
		       ((digit[-1] >= '0' && digit[-1] <= '9') || (digit[-1] >= 'A' && digit[-1] < 'T')))
			digit--;
		count += digit > name && digit[-1] == 'T';
	}
	return count <= RETRY_MAX;
}

bool demangle_affordable(const char *name)
{
	if (strstr(name, "cv") && !retries_affordable(name))
		return false;
	bool searches = strstr(name, "Dp") || strstr(name, "sp") || strstr(name, "sZ");
	return !searches || searches_affordable(name);
}

bool demangle_affordable_d(const char *name)
{
	size_t references = 0, size = strlen(name);
	for (size_t i = 0; i < size && i <= D_INPUT_MAX; i++)
		references += name[i] == 'Q';
	return size <= D_INPUT_MAX && references <= D_REFERENCE_MAX;
}

bool demangle_affordable_ada(const char *name)
{
	size_t growing = 0;
	for (const char *at = name; *at; at++)
		growing += *at == 'S' || *at == 'D' || strncmp(at, "___", 3) == 0;
	return growing <= 1;
}
