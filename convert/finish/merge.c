#include "convert/finish/merge.h"

#include "convert/finish/own_symbol.h"

#include <string.h>

static bool is_body(const struct func_record *r)
{
	/*
	 * Assemblers describe each name of a function (memcpy, __memcpy_avx) by an entry of its own. Those
	 * are names, not functions that happen to have equal code.
	 */
	return (r->kind == RECORD_DWARF || r->kind == RECORD_FOLDED) && r->name != NO_STRING && !r->assembly;
}

enum {
	LOOKED_MAX = 1 << 28,   /* symbols looked at for folded functions, in the whole file */
	COMPARED_MAX = 1 << 22, /* names of symbols with names of functions, likewise */
};

struct merge {
	const struct pool *pool;
	struct arena *arena;
	uint32_t looked, compared;
};

/*
 * Without a word of DWARF where it went, a folded function must have a symbol there: of its very name, or one
 * that is its own by another (gcc: ".isra.0", and static functions have no linkage name).
 */
static bool is_believed(struct merge *m, const struct func_record *v, size_t first, size_t end,
			const struct func_record *r)
{
	if (r->kind != RECORD_FOLDED || r->by_sequence)
		return true;
	for (size_t i = first; i < end && m->looked < LOOKED_MAX; i++, m->looked++)
		if (v[i].kind == RECORD_SYMBOL && v[i].name == r->name)
			return true;
	for (size_t i = first; i < end && m->compared < COMPARED_MAX; i++, m->compared++)
		if (v[i].kind == RECORD_SYMBOL && is_own_symbol(v[i].name, r, m->pool))
			return true;
	return false;
}

/* Of the bodies of one range: the richest that has code of its own, the first of equals. Sorted by richness.
 */
static size_t find_holder(const struct func_record *v, size_t first, size_t end)
{
	size_t holder = end;
	for (size_t i = end; i-- > first;) {
		if (v[i].kind != RECORD_DWARF || !is_body(&v[i]))
			continue;
		bool equal = holder < end && v[i].n_inlines == v[holder].n_inlines &&
			     v[i].n_rows == v[holder].n_rows && v[i].n_callsites == v[holder].n_callsites;
		if (holder == end || equal)
			holder = i;
	}
	return holder;
}

/*
 * Bodies of one name that begin on one line are copies of one function (an inline function of several units):
 * one is enough. gcc's lambdas and static functions of several units share names, but not lines.
 */
static bool is_copy(const struct func_record *x, const struct func_record *y)
{
	if (x->name != y->name)
		return false;
	return !x->n_rows || !y->n_rows || (x->rows->file == y->rows->file && x->rows->line == y->rows->line);
}

static bool is_there_already(const struct func_record *list, uint32_t n, const struct func_record *holder,
			     const struct func_record *r)
{
	if (is_copy(holder, r))
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (is_copy(&list[i], r))
			return true;
	return false;
}

enum {
	BODIES_MAX = 4096
}; /* merged into one: more than a linker ever folded, and names are compared pairwise */

static int merge_group(struct merge *m, struct func_record *v, size_t first, size_t end)
{
	size_t at = find_holder(v, first, end);
	struct func_record *holder = at < end ? &v[at] : NULL;
	struct func_record *list = holder ? arena_array(m->arena, end - first, sizeof(*list)) : NULL;
	uint32_t n = 0;
	if (holder && !list)
		return -ENOMEM;
	for (size_t i = first; i < end && holder && n < BODIES_MAX; i++)
		if (i != at && is_body(&v[i]) && is_believed(m, v, first, end, &v[i]) &&
		    !is_there_already(list, n, holder, &v[i]))
			list[n++] = v[i];
	if (n) {
		holder->merged = list;
		holder->n_merged = n;
	}
	return 0;
}

/* Bodies that are in a list need no place of their own; folded ones never have one. */
static void drop_merged(record_vec *records)
{
	size_t kept = 0;
	for (size_t i = 0, end; i < records->n; i = end) {
		bool merged = false;
		for (end = i; end < records->n && records->v[end].start == records->v[i].start &&
			      records->v[end].end == records->v[i].end;
		     end++)
			merged |= records->v[end].n_merged != 0;
		for (size_t k = i; k < end; k++) {
			const struct func_record *r = &records->v[k];
			if (r->kind != RECORD_FOLDED && (!merged || !is_body(r) || r->n_merged))
				records->v[kept++] = *r;
		}
	}
	records->n = kept;
}

int merge_records(record_vec *records, const struct pool *pool, struct arena *arena)
{
	struct merge m = {.pool = pool, .arena = arena};
	int err = 0;
	for (size_t first = 0, end; first < records->n && !err; first = end) {
		for (end = first + 1; end < records->n && records->v[end].start == records->v[first].start &&
				      records->v[end].end == records->v[first].end;)
			end++;
		if (end - first > 1)
			err = merge_group(&m, records->v, first, end);
	}
	drop_merged(records);
	return err;
}
