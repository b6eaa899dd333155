/*
 * symbol_rows.c - rows of units joined to the records of symbols.
 *
 * Offers are sorted by range, first row and unit order; the offers for a record's range are found by binary
 * search, so that the whole takes O((offers + records) log offers). Usually one unit offers rows for a
 * symbol. If several do, either the linker assembled a function from pieces (_init: crti.S, then crtn.S), and
 * their rows follow each other and are joined; or it folded functions, and the rows describe the same bytes:
 * then only those of the first unit are used, never a mixture.
 */
#include "convert/finish/finalize.h"

#include "gsym/base/invariant.h"

#include <string.h>

int symbol_rows_take(record_vec *records, record_vec *offers)
{
	size_t kept = 0;
	for (size_t i = 0; i < records->n; i++) {
		invariant(records->v[i].kind != RECORD_LINES || records->v[i].n_rows);
		if (records->v[i].kind != RECORD_LINES)
			records->v[kept++] = records->v[i];
		else if (vec_push(offers, records->v[i]))
			return -ENOMEM;
	}
	records->n = kept;
	return 0;
}

static int compare_range(const struct func_record *x, const struct func_record *y)
{
	return COMPARE(x->start, y->start) ?: COMPARE(x->end, y->end);
}

/* By range, then first row, then unit order, which is their order in memory. */
static int compare_offers(const void *a, const void *b)
{
	const struct func_record *x = *(const struct func_record *const *)a,
				 *y = *(const struct func_record *const *)b;
	return compare_range(x, y) ?: COMPARE(x->rows[0].off, y->rows[0].off) ?: COMPARE(x, y);
}

static int compare_found(const void *key, const void *offer)
{
	return compare_range(key, *(const struct func_record *const *)offer);
}

/* Whether the rows of @next begin after @last. */
static bool follows(const struct func_record *next, const struct gsym_row *last)
{
	return next->rows[0].off > last->off;
}

/* Gives @r the rows of offers v[0, n), which have its range. */
static int assign(struct func_record *r, struct func_record *const *v, size_t n, struct arena *arena)
{
	size_t total = v[0]->n_rows, more = 0;
	const struct gsym_row *last = &v[0]->rows[total - 1];
	for (size_t i = 1; i < n; i++) {
		if (!follows(v[i], last))
			continue;
		total += v[i]->n_rows;
		last = &v[i]->rows[v[i]->n_rows - 1];
		more++;
	}
	r->rows = v[0]->rows;
	r->n_rows = (uint32_t)total;
	if (!more)
		return 0;
	r->rows = arena_array(arena, total, sizeof(*r->rows));
	if (!r->rows)
		return -ENOMEM;
	memcpy(r->rows, v[0]->rows, v[0]->n_rows * sizeof(*r->rows));
	size_t done = v[0]->n_rows;
	for (size_t i = 1; i < n && done < total; i++) {
		if (!follows(v[i], &r->rows[done - 1]))
			continue;
		memcpy(r->rows + done, v[i]->rows, v[i]->n_rows * sizeof(*r->rows));
		done += v[i]->n_rows;
	}
	return 0;
}

int symbol_rows_assign(record_vec *records, const record_vec *offers, struct arena *arena)
{
	CLEANUP(freep) struct func_record **sorted = malloc((offers->n + 1) * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < offers->n; i++)
		sorted[i] = &offers->v[i];
	qsort(sorted, offers->n, sizeof(*sorted), compare_offers);
	for (size_t i = 0; i < records->n && offers->n; i++) {
		struct func_record *r = &records->v[i];
		if (r->n_rows)
			continue;
		struct func_record **first = bsearch(r, sorted, offers->n, sizeof(*sorted), compare_found);
		if (!first)
			continue;
		while (first > sorted && !compare_range(first[-1], r))
			first--;
		size_t n = 1;
		while (first + n < sorted + offers->n && !compare_range(first[n], r))
			n++;
		int err = assign(r, first, n, arena);
		if (err)
			return err;
	}
	return 0;
}
