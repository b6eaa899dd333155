/*
 * finalize.c - the passes over all records before they are written.
 *
 * Records are one array. The passes, each in place and linear after sorting:
 *
 *  1. flag call sites, by the names of all records;
 *  2. set aside RECORD_LINES, which are rows without function;
 *  3. sort by start, end and richness: radix sort by start, then qsort within groups of equal start. The
 * index in the input breaks ties, so that the order is total and independent of threads;
 *  4. join functions of one range, if wanted (merge.c);
 *  5. name functions by the symbol at their start;
 *  6. prune: of the records of one range the last, and richest, stays; labels inside DWARF functions and
 * symbols nested in a richer function with the same start go;
 *  7. give records without rows those set aside (symbol_rows.c), and drop end markers without lines.
 *
 * Pruning follows naming because it compares names, and precedes 7 because ranges must be unique there.
 */
#include "convert/finish/finalize.h"

#include "convert/finish/callsites.h"
#include "convert/record/name_match.h"
#include "gsym/base/sort.h"
#include "convert/record/range.h"
#include "gsym/base/invariant.h"

#include <string.h>

/* ---- Sorting ---- */

/* Ascending by number of inlined calls, then rows, then call sites. */
static int compare_richness(const struct func_record *x, const struct func_record *y)
{
	int c = COMPARE(x->n_inlines, y->n_inlines) ?: COMPARE(x->n_rows, y->n_rows);
	return c ?: COMPARE(x->n_callsites, y->n_callsites);
}

/* llvm-gsymutil's last criterion, between records with the same number of rows. */
static int compare_rows(const struct func_record *x, const struct func_record *y)
{
	for (uint32_t i = 0; i < x->n_rows; i++)
		if (x->rows[i].off != y->rows[i].off)
			return COMPARE(x->rows[i].off, y->rows[i].off);
	return 0;
}

struct sort_context {
	const struct func_record *records;
	bool by_rows;
};

/* Of records with the same start; the index breaks ties by input order. */
static int compare_keyed(const void *a, const void *b, void *user)
{
	const struct sort_context *context = user;
	const struct keyed *x = a, *y = b;
	const struct func_record *rx = &context->records[x->index], *ry = &context->records[y->index];
	int c = COMPARE(rx->end, ry->end) ?: compare_richness(rx, ry);
	if (!c && context->by_rows)
		c = compare_rows(rx, ry);
	return c ?: COMPARE(x->index, y->index);
}

/* By start, end and richness; stable. */
static int sort_records(record_vec *records, bool by_rows)
{
	CLEANUP(freep) struct keyed *keys = malloc((records->n + 1) * sizeof(*keys));
	if (!keys || records->n > UINT32_MAX)
		return -ENOMEM;
	for (size_t i = 0; i < records->n; i++)
		keys[i] = (struct keyed){records->v[i].start, (uint32_t)i};
	struct sort_context context = {records->v, by_rows};
	int err = radix_sort(keys, records->n);
	for (size_t first = 0, end; first < records->n && !err; first = end) {
		for (end = first + 1; end < records->n && keys[end].key == keys[first].key;)
			end++;
		if (end - first > 1)
			qsort_r(keys + first, end - first, sizeof(*keys), compare_keyed, &context);
	}

	if (!err) {
		/* Each record moves to its key's place, cycle by cycle: another array would be new memory. */
		for (size_t i = 0; i < records->n; i++) {
			struct func_record first = records->v[i];
			size_t to = i;
			for (size_t from; (from = keys[to].index) != i; to = from) {
				records->v[to] = records->v[from];
				keys[to].index = (uint32_t)to;
			}
			if (to != i)
				records->v[to] = first;
			keys[to].index = (uint32_t)to;
		}
	}
	return err;
}

/* ---- Names ---- */

enum { FOLDED_SYMBOLS_MAX = 64 }; /* symbols tried for one folded function */

/*
 * A function is named by the symbol at its start, as by llvm-symbolizer: symbols distinguish clones (".cold",
 * ".isra.0") and aliases, and lambdas and local classes have a mangled name only there. With @dwarf_names a
 * symbol's name is still used where DWARF has no linkage name: a mangled one, or the unqualified one of an
 * extern "C" function in a namespace.
 */
static void name_from_symbol(struct func_record *r, const struct func_record *symbol, const struct pool *pool,
			     bool dwarf_names)
{
	if (!dwarf_names || r->name == NO_STRING ||
	    (!r->linkage && (string_is_mangled(pool, symbol->name) || r->bare == symbol->name))) {
		r->name = symbol->name;
		r->linkage = true;
	}
}

/* The first symbol among v[first, end) that matches @r by name; NULL when none of the first few does. */
static const struct func_record *matching_symbol(const struct func_record *v, size_t first, size_t end,
						 const struct func_record *r, const struct pool *pool)
{
	uint32_t left = FOLDED_SYMBOLS_MAX;
	for (size_t i = first; i < end && left; i++) {
		if (v[i].kind != RECORD_SYMBOL)
			continue;
		left--;
		if (symbol_matches(v[i].name, r, pool))
			return &v[i];
	}
	return NULL;
}

/* Whether symbols may name @r, which has a name. */
static bool is_named_body(const struct func_record *r)
{
	return r->kind == RECORD_DWARF && r->name != NO_STRING && !r->n_merged && !r->spelled;
}

/*
 * Names records v[first, end), which have one range, if DWARF has several functions there: the linker folded
 * them and redirected their entries to the one it kept (gold). Each has its own rows, so each keeps its own
 * name; the one that @symbol names represents all.
 */
static void name_folded(struct func_record *v, size_t first, size_t end, size_t group, size_t group_end,
			const struct func_record *symbol, const struct pool *pool, bool dwarf_names)
{
	bool represented = false;
	for (size_t i = first; i < end; i++) {
		if (!is_named_body(&v[i]))
			continue;
		v[i].represents = !represented && symbol_matches(symbol->name, &v[i], pool);
		represented |= v[i].represents;
		const struct func_record *own = v[i].represents ? symbol
						: v[i].linkage
							? NULL
							: matching_symbol(v, group, group_end, &v[i], pool);
		if (own)
			name_from_symbol(&v[i], own, pool, dwarf_names);
	}
}

static bool same_rows(const struct func_record *x, const struct func_record *y)
{
	for (uint32_t i = 0; i < x->n_rows && i < y->n_rows; i++)
		if (memcmp(&x->rows[i], &y->rows[i], sizeof(x->rows[i])))
			return false;
	return x->n_rows == y->n_rows;
}

/* Whether DWARF has functions of different names and lines among v[first, end), which have one range. */
static bool is_folded(const struct func_record *v, size_t first, size_t end)
{
	const struct func_record *before = NULL;
	for (size_t i = first; i < end; i++) {
		if (!is_named_body(&v[i]))
			continue;
		if (before && v[i].name != before->name && !same_rows(before, &v[i]))
			return true;
		before = &v[i];
	}
	return false;
}

/*
 * Names the functions in [first, end), which have one start, by the largest symbol there, the last of equals.
 */
static void name_group(struct func_record *v, size_t first, size_t end, const struct pool *pool,
		       bool dwarf_names)
{
	const struct func_record *symbol = NULL;
	for (size_t i = first; i < end; i++)
		if (v[i].kind == RECORD_SYMBOL || (v[i].kind == RECORD_LABEL && !v[i].marker && !symbol))
			symbol = &v[i];
	for (size_t i = first, same; symbol && i < end; i = same) {
		for (same = i + 1; same < end && v[same].end == v[i].end;)
			same++;
		if (is_folded(v, i, same)) {
			name_folded(v, i, same, first, end, symbol, pool, dwarf_names);
			continue;
		}
		for (; i < same; i++)
			/* Merged functions are distinguished by their names. */
			if (v[i].kind == RECORD_DWARF && !v[i].spelled && !v[i].n_merged)
				name_from_symbol(&v[i], symbol, pool, dwarf_names);
	}
}

static void name_from_symbols(record_vec *records, const struct pool *pool, bool dwarf_names)
{
	for (size_t first = 0, end; first < records->n; first = end) {
		for (end = first + 1; end < records->n && records->v[end].start == records->v[first].start;)
			end++;
		if (end - first > 1)
			name_group(records->v, first, end, pool, dwarf_names);
	}
}

/* ---- Pruning ---- */

static bool same_content(const struct func_record *x, const struct func_record *y)
{
	if (x->name != y->name || x->n_inlines != y->n_inlines || x->n_ranges != y->n_ranges ||
	    !same_rows(x, y))
		return false;
	/* Compared field by field, because the structs have padding. */
	for (uint32_t i = 0; i < x->n_ranges; i++)
		if (memcmp(&x->ranges[i], &y->ranges[i], sizeof(x->ranges[i])))
			return false;
	for (uint32_t i = 0; i < x->n_inlines; i++) {
		const struct gsym_inline *p = &x->inlines[i], *q = &y->inlines[i];
		if (p->name != q->name || p->call_file != q->call_file || p->call_line != q->call_line ||
		    p->depth != q->depth || p->n_ranges != q->n_ranges)
			return false;
	}
	return true;
}

static bool has_debug_info(const struct func_record *r)
{
	return r->n_rows || r->n_inlines || r->n_callsites;
}

/* Of two records with one range, @later in the sort order: which stays. */
static bool later_wins(const struct func_record *kept, const struct func_record *later, bool match_llvm)
{
	if (kept->n_merged)
		return false; /* it represents others, too */
	if (kept->represents || later->represents)
		return later->represents;
	if (kept->spelled && later->kind != RECORD_DWARF)
		return false;
	bool tie =
		kept->kind == RECORD_DWARF && later->kind == RECORD_DWARF && !compare_richness(kept, later);
	return match_llvm || !tie;
}

/* Ranges in which labels of assembly code are dropped. */
static int dwarf_ranges(const record_vec *records, range_vec *ret)
{
	for (size_t i = 0; i < records->n; i++)
		if (records->v[i].kind == RECORD_DWARF && records->v[i].name != NO_STRING &&
		    vec_push(ret, (struct range){records->v[i].start, records->v[i].end}))
			return -ENOMEM;
	ranges_normalize(ret);
	return 0;
}

/*
 * Drops the last kept symbols that start with the richer function @r and end before it: it has their name,
 * or one that is better, and nested in it they would hide its rows. The size of a symbol may exclude what
 * follows the last return.
 */
static void drop_shorter_symbols(const struct func_record *v, size_t *kept, const struct func_record *r)
{
	if (r->kind != RECORD_DWARF || !(has_debug_info(r) || r->spelled))
		return;
	while (*kept && v[*kept - 1].kind == RECORD_SYMBOL && !v[*kept - 1].n_merged &&
	       v[*kept - 1].start == r->start && v[*kept - 1].end < r->end)
		--*kept;
}

/* Appends @r to the kept records, replaces the last of them by it, or drops it. */
static void prune_step(struct func_record *v, size_t *kept, const struct func_record *r, bool match_llvm,
		       struct warnings *warnings)
{
	if (!match_llvm)
		drop_shorter_symbols(v, kept, r);
	struct func_record *last = *kept ? &v[*kept - 1] : NULL;
	if (last && last->start == r->start && last->end == r->end) {
		if (same_content(last, r))
			return;
		if (has_debug_info(last) && has_debug_info(r))
			warning_count(warnings, WARN_SAME_RANGE, NULL, r->start);
		if (later_wins(last, r, match_llvm))
			*last = *r;
		return;
	}
	if (last && r->inferred && last->start == r->start && last->kind == RECORD_DWARF)
		return; /* DWARF has the end of the function, which excludes padding */
	if (last && last->end == last->start && last->start >= r->start && last->start < r->end) {
		*last = *r;
		return;
	}
	if (last && r->start < last->end && has_debug_info(last) && has_debug_info(r))
		warning_count(warnings, WARN_OVERLAP, NULL, r->start);
	v[(*kept)++] = *r;
}

static int prune(record_vec *records, bool match_llvm, struct warnings *warnings)
{
	CLEANUP(range_vec_free) range_vec covered = {0};
	int err = dwarf_ranges(records, &covered);
	if (err)
		return err;
	size_t kept = 0;
	for (size_t i = 0; i < records->n; i++) {
		struct func_record r = records->v[i];
		if (r.kind == RECORD_LABEL && ranges_find(&covered, r.start))
			continue;
		if (r.name == NO_STRING)
			continue; /* named neither by DWARF nor by a symbol */
		prune_step(records->v, &kept, &r, match_llvm, warnings);
	}
	records->n = kept;
	return 0;
}

/* Whether records ascend by start and end, and no two have one range. */
static bool in_order(const record_vec *records)
{
	for (size_t i = 1; i < records->n; i++) {
		const struct func_record *x = &records->v[i - 1], *y = &records->v[i];
		if (x->start != y->start ? x->start > y->start : x->end >= y->end)
			return false;
	}
	return true;
}

int finalize_records(record_vec *records, const struct pool *pool, const struct convert_options *options,
		     struct arena *arena, struct warnings *warnings)
{
	record_vec offers = {0};
	int err = options->callsites && !options->match_llvm ? callsites_flag(records, pool) : 0;
	if (!err)
		err = symbol_rows_take(records, &offers);
	if (!err)
		err = sort_records(records, options->match_llvm);
	if (!err) {
		if (options->merged)
			err = merge_records(records, pool, arena, warnings);
		if (!err && !options->match_llvm)
			name_from_symbols(records, pool, options->dwarf_names);
		if (!err)
			err = prune(records, options->match_llvm, warnings);
	}
	invariant(err || in_order(records));
	if (!err)
		err = symbol_rows_assign(records, &offers, arena);
	/* End markers name no code, unless a row begins there. */
	size_t kept = 0;
	for (size_t i = 0; i < records->n; i++)
		if (!records->v[i].marker || (records->v[i].n_rows && !records->v[i].rows->off))
			records->v[kept++] = records->v[i];
	records->n = kept;
	vec_free(&offers);
	return err;
}
