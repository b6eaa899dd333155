/*
 * merge.c - merging functions of one range (identical code folding).
 *
 * Sorted records of one range are neighbours. In each group the richest DWARF function becomes the holder, of
 * a PDB file the one that represents the others; every other DWARF function, and every folded one that a
 * symbol confirms, is appended to its list unless a copy is there already. Copies are compared pairwise, so
 * groups are limited to BODIES_MAX, and comparisons with symbols have a budget for the whole file.
 */
#include "convert/finish/finalize.h"
#include "convert/record/name_match.h"

#include "gsym/base/invariant.h"

#include <string.h>

static bool is_body(const struct func_record *r)
{
	/*
	 * Assemblers emit an entry for each name of a function (memcpy, __memcpy_avx). Those are aliases, not
	 * functions with identical code.
	 */
	return (r->kind == RECORD_DWARF || r->kind == RECORD_FOLDED) && r->name != NO_STRING && !r->assembly;
}

enum {
	VISITED_MAX = 1 << 28,  /* symbols visited for folded functions, in the whole file */
	COMPARED_MAX = 1 << 22, /* symbol names compared with function names, likewise */
};

struct merge {
	const struct pool *pool;
	struct arena *arena;
	struct warnings *warnings;
	uint32_t visited, compared;
};

/*
 * Without DW_AT_LLVM_stmt_sequence, a folded function must have a symbol there: of the same name, or a
 * matching one (gcc: ".isra.0", and static functions have no linkage name).
 */
static bool is_confirmed(struct merge *m, const struct func_record *v, size_t first, size_t end,
			 const struct func_record *r)
{
	if (r->kind != RECORD_FOLDED || r->by_sequence)
		return true;
	for (size_t i = first; i < end && m->visited < VISITED_MAX; i++, m->visited++)
		if (v[i].kind == RECORD_SYMBOL && v[i].name == r->name)
			return true;
	for (size_t i = first; i < end && m->compared < COMPARED_MAX; i++, m->compared++)
		if (v[i].kind == RECORD_SYMBOL && symbol_matches(v[i].name, r, m->pool))
			return true;
	return false;
}

/*
 * The function of one range that represents the others, else the richest DWARF function, the first of equals.
 * Records are sorted by richness.
 */
static size_t find_holder(const struct func_record *v, size_t first, size_t end)
{
	size_t holder = end;
	for (size_t i = end; i-- > first;) {
		if (v[i].kind != RECORD_DWARF || !is_body(&v[i]))
			continue;
		if (v[i].represents)
			return i;
		bool equal = holder < end && v[i].n_inlines == v[holder].n_inlines &&
			     v[i].n_rows == v[holder].n_rows && v[i].n_callsites == v[holder].n_callsites;
		if (holder == end || equal)
			holder = i;
	}
	return holder;
}

/*
 * Functions of one name that begin on one line are copies of one function (an inline function of several
 * units). gcc's lambdas, and static functions of several units, share names but not lines.
 */
static bool is_copy(const struct func_record *x, const struct func_record *y)
{
	if (x->name != y->name)
		return false;
	return !x->n_rows || !y->n_rows || (x->rows->file == y->rows->file && x->rows->line == y->rows->line);
}

static bool is_listed(const struct func_record *list, uint32_t n, const struct func_record *holder,
		      const struct func_record *r)
{
	if (is_copy(holder, r))
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (is_copy(&list[i], r))
			return true;
	return false;
}

enum { BODIES_MAX = 4096 }; /* merged into one: more than linkers fold; they are compared pairwise */

static int merge_group(struct merge *m, struct func_record *v, size_t first, size_t end)
{
	size_t at = find_holder(v, first, end);
	struct func_record *holder = at < end ? &v[at] : NULL;
	struct func_record *list = holder ? arena_array(m->arena, end - first, sizeof(*list)) : NULL;
	uint32_t n = 0;
	if (holder && !list)
		return -ENOMEM;
	size_t i = first;
	for (; i < end && holder && n < BODIES_MAX; i++)
		if (i != at && is_body(&v[i]) && is_confirmed(m, v, first, end, &v[i]) &&
		    !is_listed(list, n, holder, &v[i]))
			list[n++] = v[i];
	if (holder && (i < end || m->visited >= VISITED_MAX || m->compared >= COMPARED_MAX))
		warning_count(m->warnings, WARN_MERGED_LIMIT, NULL, holder->start);
	if (n) {
		holder->merged = list;
		holder->n_merged = n;
	}
	return 0;
}

int merge_records(record_vec *records, const struct pool *pool, struct arena *arena,
		  struct warnings *warnings)
{
	struct merge m = {.pool = pool, .arena = arena, .warnings = warnings};
	int err = 0;
	for (size_t first = 0, end; first < records->n && !err; first = end) {
		for (end = first + 1; end < records->n && records->v[end].start == records->v[first].start &&
				      records->v[end].end == records->v[first].end;)
			end++;
		invariant(end == records->n || records->v[first].start <= records->v[end].start);
		if (end - first > 1)
			err = merge_group(&m, records->v, first, end);
	}
	/* Functions that are in a list go, and all folded ones. */
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
	return err;
}
