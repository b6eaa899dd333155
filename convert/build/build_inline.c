/*
 * build_inline.c - the inline tree of one range of a function, and its call sites.
 *
 * Inlined calls are a preorder list with depths. A function with several ranges becomes one record for each,
 * which takes the part of the tree in its range. In one pass, with a stack of the kept ranges by depth, the
 * ranges of each call are clipped to those of its parent; a call without any left is dropped with its
 * children. Of a call's ranges only those in the span of its parent's are visited, so that time is linear in
 * calls and in the ranges kept, but for binary searches. Functions whose ranges overlap, or calls that share
 * a long list, could keep the same ranges many times: the unit's budget bounds that.
 */
#include "convert/build/unit_builder.h"

#include "gsym/base/invariant.h"
#include "gsym/base/search.h"
#include "gsym/codec/format.h"

/* The kept ranges of the nearest kept ancestor: kept.v[first, end). */
struct inline_level {
	uint32_t first, end;
};

/* The first of @n ascending ranges that ends after @addr. */
static size_t first_behind(const struct range *v, size_t n, uint64_t addr)
{
	return PARTITION_POINT(0, n, mid, v[mid].hi <= addr);
}

/*
 * Keeps the parts of @r in the parent's ranges. Compilers join adjacent ranges, so that one may span two
 * ranges of a function (basic block sections); llvm-gsymutil drops such a call with its children.
 */
static int keep_range(struct unit_builder *b, struct range r, const struct inline_level *parent)
{
	size_t n = parent->end - parent->first;
	for (size_t i = first_behind(b->kept.v + parent->first, n, r.lo); i < n; i++) {
		struct range host = b->kept.v[parent->first + i];
		if (host.lo >= r.hi || !budget_work(&b->unit.budget, ACCOUNT_CALLS, RANGE_STEPS))
			break;
		if (b->context->match_llvm && (r.lo < host.lo || r.hi > host.hi))
			continue;
		struct range part = {r.lo > host.lo ? r.lo : host.lo, r.hi < host.hi ? r.hi : host.hi};
		if (vec_push(&b->kept, part))
			return -ENOMEM;
	}
	return 0;
}

static bool overlaps_subprogram(const struct unit_builder *b, struct range r)
{
	size_t i = first_behind(b->subprogram_ranges.v, b->subprogram_ranges.n, r.lo);
	return i < b->subprogram_ranges.n && b->subprogram_ranges.v[i].lo < r.hi;
}

/* Counts a call with a range outside of its function. */
static void check_call(struct unit_builder *b, struct inlined_call *call)
{
	bool outside = false;
	if (call->checked || !budget_work(&b->unit.budget, ACCOUNT_CALLS, call->n_ranges))
		return;
	for (uint32_t i = 0; i < call->n_ranges; i++)
		outside |= !overlaps_subprogram(b, b->ranges.v[call->first_range + i]);
	if (outside)
		warning_count(&b->warnings, WARN_INLINE_RANGE, ".debug_info", call->die_off);
	call->checked = true;
}

/* Appends the ranges of @call, clipped to its parent's, to b->kept. Returns their number, or -ENOMEM. */
static int keep_ranges(struct unit_builder *b, const struct inlined_call *call,
		       const struct inline_level *parent)
{
	size_t before = b->kept.n, n = call->n_ranges;
	const struct range *ranges = b->ranges.v + call->first_range;
	uint64_t hi = b->kept.v[parent->end - 1].hi;
	for (size_t i = first_behind(ranges, n, b->kept.v[parent->first].lo);
	     i < n && ranges[i].lo < hi && budget_work(&b->unit.budget, ACCOUNT_CALLS, 1); i++)
		if (keep_range(b, ranges[i], parent))
			return -ENOMEM;
	return (int)(b->kept.n - before);
}

/* Appends the call with its last @n kept ranges. -ENOENT: its call file is bad. */
static int add_inlined(struct unit_builder *b, const struct inlined_call *call, uint64_t lo, uint32_t n)
{
	struct name_slot name;
	uint32_t file = 0;
	int err = call->has_call_file      ? builder_file(b, call->call_file, &file)
		  : b->context->match_llvm ? -ENOENT
					   : 0;
	if (err == -ENOENT)
		warning_count(&b->warnings, WARN_CALL_FILE, ".debug_info", call->die_off);
	if (!err)
		err = builder_name(b, call->name_key, &name);
	if (err)
		return err;
	struct gsym_inline out = {
		.name = name.string,
		.call_file = file,
		.call_line = (uint32_t)call->call_line,
		.depth = call->depth,
		.first_range = (uint32_t)b->inline_ranges.n,
		.n_ranges = n,
	};
	for (size_t i = b->kept.n - n; i < b->kept.n; i++) {
		struct range r = b->kept.v[i];
		if (vec_push(&b->inline_ranges,
			     (struct gsym_range){(uint32_t)(r.lo - lo), (uint32_t)(r.hi - r.lo)}))
			return -ENOMEM;
	}
	return vec_push(&b->inlines, out);
}

int builder_inlines(struct unit_builder *b, uint32_t index, uint64_t lo, uint64_t hi)
{
	const struct subprogram *subprogram = &b->subprograms.v[index];
	struct inline_level levels[INLINE_DEPTH_MAX + 1];
	uint32_t dropped = UINT32_MAX; /* depth of the dropped call whose descendants are skipped */
	b->inlines.n = b->inline_ranges.n = b->kept.n = 0;
	if (vec_push(&b->kept, (struct range){lo, hi}))
		return -ENOMEM;
	levels[0] = (struct inline_level){0, 1};
	for (uint32_t i = subprogram->first_inlined;
	     i < subprogram->end_inlined && budget_work(&b->unit.budget, ACCOUNT_CALLS, 1); i++) {
		struct inlined_call *call = &b->inlined_calls.v[i];
		if (call->subprogram != index || call->depth > dropped)
			continue;
		invariant(call->depth && call->depth <= INLINE_DEPTH_MAX);
		const struct inline_level *parent = &levels[call->depth - 1];
		b->kept.n = parent->end;
		check_call(b, call);
		int n = keep_ranges(b, call, parent);
		int err = n > 0 ? add_inlined(b, call, lo, (uint32_t)n) : n ? n : -ENOENT;
		if (err && err != -ENOENT)
			return err;
		dropped = err ? call->depth : UINT32_MAX;
		levels[call->depth] = (struct inline_level){(uint32_t)(b->kept.n - (size_t)(n > 0 ? n : 0)),
							    (uint32_t)b->kept.n};
	}
	return 0;
}

/* ---- Call sites ---- */

/* A return address is after the first byte of the range, at most at its end: the last instruction may be a
 * call. */
static bool returns_into(const struct call_entry *call, uint64_t lo, uint64_t hi)
{
	return call->return_pc > lo && call->return_pc <= hi;
}

int builder_callsites(struct unit_builder *b, uint32_t index, uint64_t lo, uint64_t hi)
{
	const struct subprogram *subprogram = &b->subprograms.v[index];
	b->callsites.n = b->patterns.n = 0;
	for (uint32_t i = subprogram->first_call;
	     i < subprogram->end_call && budget_work(&b->unit.budget, ACCOUNT_CALLS, 1); i++) {
		const struct call_entry *call = &b->calls.v[i];
		if (call->subprogram != index || !returns_into(call, lo, hi))
			continue;
		struct name_slot name = {.string = NO_STRING};
		int err = call->has_callee ? builder_name(b, call->name_key, &name) : 0;
		struct gsym_callsite site = {
			.return_off = call->return_pc - lo,
			.first_pattern = (uint32_t)b->patterns.n,
			.n_patterns = name.string != NO_STRING,
		};
		if (!err && site.n_patterns)
			err = vec_push(&b->patterns, name.string);
		if (err || (err = vec_push(&b->callsites, site)))
			return err;
	}
	return 0;
}
