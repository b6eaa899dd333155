/*
 * build_calls.c - the call sites of one range of a function.
 */
#include "convert/build/unit_builder.h"

/* A return address is after the first byte of the range, at most at its end: the last instruction may be a
 * call. */
static bool returns_into(const struct call_entry *call, uint64_t lo, uint64_t hi)
{
	return call->return_pc > lo && call->return_pc <= hi;
}

static int add_site(struct unit_builder *b, const struct call_entry *call, uint64_t lo)
{
	struct name_slot name = {.string = NO_STRING};
	int err = call->has_callee ? builder_name(b, call->name_key, &name) : 0;
	struct gsym_callsite site = {
		.return_off = call->return_pc - lo,
		.first_pattern = (uint32_t)b->patterns.n,
		.n_patterns = name.string != NO_STRING,
	};
	if (!err && site.n_patterns)
		err = vec_push(&b->patterns, name.string);
	return err ? err : vec_push(&b->callsites, site);
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
		int err = add_site(b, call, lo);
		if (err)
			return err;
	}
	return 0;
}
