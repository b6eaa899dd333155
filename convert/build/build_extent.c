/*
 * build_extent.c - the bytes that belong to a function, which may be more than its entry has.
 *
 * gcc 12 emits the NOPs of -fpatchable-function-entry (kernels for arm64 and RISC-V) between the symbol and
 * DW_AT_low_pc. Where one sized symbol with the function's name holds all of a DWARF range and no other one,
 * both are the same function, and it extends as far as the symbol. What is before a symbol (type words of
 * KCFI, NOPs for hooks) has symbols of its own ("__cfi_", "__pfx_") or none, and is not part of the function.
 */
#include "convert/build/unit_builder.h"

#include "convert/record/name_match.h"
#include "gsym/base/search.h"

enum {
	ALIASES_MAX = 16,         /* symbols of one address whose names are compared */
	COMPARED_SIZE_MAX = 4096, /* bytes of such a name that are compared */
};

/* Lists the ranges of the unit's subprograms in ascending order, unless that is done. */
static int list_bodies(struct unit_builder *b)
{
	if (b->bodies.n)
		return 0;
	for (size_t i = 0; i < b->subprograms.n; i++)
		for (uint32_t k = 0; k < b->subprograms.v[i].n_ranges; k++)
			if (vec_push(&b->bodies, b->ranges.v[b->subprograms.v[i].first_range + k]))
				return -ENOMEM;
	ranges_sort(b->bodies.v, b->bodies.n);
	return 0;
}

/* Whether @range is the only one of a subprogram that begins in [lo, hi). Copies of an entry are one. */
static bool is_alone(const struct unit_builder *b, struct range range, uint64_t lo, uint64_t hi)
{
	size_t first = PARTITION_POINT(0, b->bodies.n, mid, b->bodies.v[mid].lo < lo);
	size_t end = PARTITION_POINT(first, b->bodies.n, mid, b->bodies.v[mid].lo <= range.lo);
	return first < b->bodies.n && b->bodies.v[first].lo == range.lo &&
	       (end == b->bodies.n || b->bodies.v[end].lo >= hi);
}

/*
 * The smallest sized function symbol that begins before @range and holds it, if no other one begins in
 * between or at its start; else NULL.
 */
static const struct code_symbol *find_holder(const symbol_vec *symbols, struct range range)
{
	const struct code_symbol *v = symbols->v;
	size_t end = symtab_lower_bound(symbols, range.lo);
	if (!end || (end < symbols->n && v[end].addr == range.lo))
		return NULL;
	size_t first = symtab_lower_bound(symbols, v[end - 1].addr);
	size_t at = PARTITION_POINT(first, end, mid, v[mid].end < range.hi);
	return at < end && !v[at].inferred && !v[at].label ? &v[at] : NULL;
}

/* Whether one of the symbols from @holder on that are its aliases has the name of the function. */
static bool is_namesake(struct unit_builder *b, const struct code_symbol *holder,
			const struct name_slot *name)
{
	const struct code_symbol *end = b->context->symbols->v + b->context->symbols->n;
	uint32_t string = name->bare == NO_STRING ? name->string : name->bare;
	if (string == NO_STRING)
		return false;
	if (end - holder > ALIASES_MAX)
		end = holder + ALIASES_MAX;
	for (const struct code_symbol *s = holder; s < end && s->addr == holder->addr; s++) {
		int64_t size = budget_text(&b->unit.budget, ACCOUNT_NAMES, s->name, COMPARED_SIZE_MAX);
		const struct pool_string symbol = {.text = s->name, .size = (uint32_t)size};
		if (size >= 0 && name_matches(&symbol, &b->strings.v[string]))
			return true;
	}
	return false;
}

int builder_extent(struct unit_builder *b, struct range range, const struct name_slot *name,
		   struct range *ret)
{
	*ret = range;
	const struct code_symbol *holder =
		b->context->match_llvm ? NULL : find_holder(b->context->symbols, range);
	if (!holder || holder->end - holder->addr > UINT32_MAX || !is_namesake(b, holder, name))
		return 0;
	int err = list_bodies(b);
	if (!err && is_alone(b, range, holder->addr, holder->end))
		*ret = (struct range){holder->addr, holder->end};
	return err;
}
