/*
 * intervals.h - a function flattened to address intervals: the result of gsym_lookup() for many addresses
 * in one pass over its record.
 *
 * Each interval has an offset, and the row and inlined call in effect there. Either the offsets are all
 * those at which a result may change, and the intervals answer for the whole function; or they are those
 * of given queries, so that a table of millions of rows is read once for many of them. A pass gives
 * exactly the results of individual lookups, for damaged records too: an address is answered if the damage
 * lies after everything its lookup would have read. Internal.
 */
#ifndef GSYM_READ_INTERVALS_H
#define GSYM_READ_INTERVALS_H

#include "gsym/base/vec.h"
#include "gsym/codec/inline.h"
#include "gsym/codec/interval.h"
#include "gsym/codec/record.h"

enum {
	CUT_COST_MAX = 256 * 1024, /* bytes of a record: some 8 MiB of intervals at most */
	INTERVALS_AT_MAX = 1024,   /* offsets that intervals_at() always accepts */
};

/*
 * An inlined call; number 0 is the function itself, and says nothing else. Neither name nor file are checked.
 */
struct interval_node {
	uint64_t name;
	uint64_t first; /* of its first range, from the function's start */
	uint32_t call_file;
	uint32_t call_line;
	uint32_t parent; /* another node, with a smaller number */
};

/* The points inside a node that was entered, as ascending indexes of intervals. */
struct sweep_level {
	size_t from, n;       /* in points and next; next has one more */
	size_t left;          /* not taken by a child */
	uint64_t first, last; /* offsets that these are within */
	uint32_t node;
	uint64_t base; /* that ranges of children count from */
};

/* Results, and memory that is used from call to call. Zero-initialised is empty. */
struct interval_set {
	VEC(struct interval) v;
	VEC(struct interval_node) nodes;
	struct offset_list rows, edges; /* scratch, as all that follows */
	struct offset_list points, next;
	struct offset_list sorted;
	struct sweep_level levels[INLINE_DEPTH_MAX + 1];
};

void intervals_deinit(struct interval_set *s);

/* Bytes of @record that a pass reads. */
size_t intervals_cost(const struct function_info *record);

/*
 * Flattens the function into intervals of which each extends up to the next, the last up to @last; the
 * first is at 0. 0, -ENOMEM, or -E2BIG when the record is too large to be worth the memory.
 */
int intervals_cut(struct interval_set *s, const struct function_info *record,
		  const struct gsym_tables *tables, uint32_t last);

/*
 * Likewise for the offsets in @s->edges, which it sorts: one interval for each distinct offset, valid for
 * it alone. Up to INTERVALS_AT_MAX offsets only fail without memory.
 */
int intervals_at(struct interval_set *s, const struct function_info *record,
		 const struct gsym_tables *tables);

bool offsets_ascend(const uint32_t *v, size_t n);

/*
 * Sorts those of @list from @from on; fast for short or sorted input. @scratch is overwritten. 0 or
 * -ENOMEM.
 */
int offsets_sort(struct offset_list *list, size_t from, struct offset_list *scratch);

/* Appends the offsets up to @last at which the stack of inlined calls may change. 0 or -ENOMEM. */
int inline_offsets(struct cursor block, const struct gsym_tables *tables, uint32_t last,
		   struct offset_list *out);

/* Fills in nodes: 0, -ENOMEM or -E2BIG. */
int inline_sweep(struct interval_set *s, struct cursor block, const struct gsym_tables *tables);

#endif
