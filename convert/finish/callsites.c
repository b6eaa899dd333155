/*
 * callsites.c - flags of call sites, and from the functions that a file lists to records.
 *
 * A name is looked up among the records before pruning, since users know aliases and folded functions that
 * have no record of their own in the end; the final records then have the function that covers that range.
 *
 * Data: an array indexed by string number gives the first listed function of a name, so that one pass over
 * the records finds all; then the listed functions are sorted by their record and each record's call sites
 * are rebuilt once. O(records + strings + sites log sites).
 */
#include "convert/finish/callsites.h"

#include "gsym/base/diag.h"
#include "gsym/base/search.h"
#include "gsym/base/sort.h"

#include <inttypes.h>
#include <string.h>

/* ---- Flags ---- */

int callsites_flag(record_vec *records, const struct pool *pool)
{
	bool *defined = calloc(pool->strings.n + 1, sizeof(*defined));
	if (!defined)
		return -ENOMEM;
	for (size_t i = 0; i < records->n; i++)
		if (records->v[i].kind != RECORD_LINES && records->v[i].name != NO_STRING)
			defined[records->v[i].name] = true;
	/* One pass marked the names of all functions by string number; this one looks up callees. */
	for (size_t i = 0; i < records->n; i++) {
		struct func_record *r = &records->v[i];
		for (uint32_t k = 0; k < r->n_callsites; k++) {
			struct gsym_callsite *site = &r->callsites[k];
			for (uint32_t p = 0; p < site->n_patterns; p++)
				site->flags |= defined[r->patterns[site->first_pattern + p]]
						       ? GSYM_CALLSITE_INTERNAL
						       : GSYM_CALLSITE_EXTERNAL;
		}
	}
	free(defined);
	return 0;
}

/* ---- Names to records ---- */

/* For each string of the pool: the first listed function of that name + 1, 0 = none. */
static uint32_t *index_names(const struct listed_place *places, size_t n, const struct pool *pool)
{
	uint32_t *index = calloc(pool->strings.n + 1, sizeof(*index));
	for (size_t i = 0; i < n && index; i++)
		index[places[i].name] = places[i].first + 1;
	return index;
}

static int name_places(const struct callsites_file *file, struct pool *pool, struct listed_place *places)
{
	for (size_t i = 0; i < file->functions.n; i++)
		if (pool_add_string(pool, &file->functions.v[i].name, &places[i].name))
			return -ENOMEM;
	CLEANUP(freep) uint32_t *first = calloc(pool->strings.n + 1, sizeof(*first));
	for (size_t i = 0; i < file->functions.n && first; i++) {
		uint32_t *known = &first[places[i].name];
		if (!*known)
			*known = (uint32_t)i + 1;
		places[i].first = *known - 1;
	}
	return first ? 0 : -ENOMEM;
}

int callsites_locate(const struct callsites_file *file, const record_vec *records, struct pool *pool,
		     struct listed_place **ret)
{
	size_t n = file->functions.n;
	CLEANUP(freep) struct listed_place *places = calloc(n + 1, sizeof(*places));
	if (!places || name_places(file, pool, places))
		return -ENOMEM;
	CLEANUP(freep) uint32_t *index = index_names(places, n, pool);
	if (!index)
		return -ENOMEM;
	for (size_t i = 0; i < records->n; i++) {
		const struct func_record *r = &records->v[i];
		uint32_t at = r->kind != RECORD_LINES && r->name != NO_STRING ? index[r->name] : 0;
		if (!at || places[at - 1].known)
			continue;
		places[at - 1].known = true;
		places[at - 1].start = r->start;
		places[at - 1].end = r->end;
	}
	*ret = TAKE(places);
	return 0;
}

/* How well @r matches the range that the name had before pruning. */
static int fitness(const struct listed_place *place, const struct func_record *r)
{
	return r->start == place->start ? 1 + (r->end == place->end) : 0;
}

static void offer(struct listed_place *places, const uint32_t *index, struct func_record *r)
{
	uint32_t at = index[r->name];
	struct listed_place *place = at ? &places[at - 1] : NULL;
	if (place && (!place->record || fitness(place, r) > fitness(place, place->record)))
		place->record = r;
}

/* The record that replaced a pruned one: with the same range, else the largest with the same start. */
static struct func_record *find_successor(const struct listed_place *place, record_vec *records)
{
	struct func_record *found = NULL;
	size_t lo = PARTITION_POINT(0, records->n, mid, records->v[mid].start < place->start);
	for (; lo < records->n && records->v[lo].start == place->start; lo++)
		if (!found || fitness(place, &records->v[lo]) >= fitness(place, found))
			found = &records->v[lo];
	return place->known ? found : NULL;
}

/* A return address is after the first byte of a function, at most at its end. */
static int check_range(const struct callsites_file *file, const struct listed_function *f,
		       const struct func_record *r, struct gsym_diag *diag)
{
	uint64_t size = r->end - r->start;
	for (uint32_t i = 0; i < f->n_sites && size; i++) {
		const struct listed_site *site = &file->sites.v[f->first_site + i];
		if (site->return_off > size)
			return diag_set(diag, -EINVAL,
					"%s:%" PRIu32 ":%" PRIu32 ": return_offset 0x%" PRIx64
					" is past the end of the function, which has 0x%" PRIx64
					" bytes: count from the start of the function",
					file->path, site->line, site->column, site->return_off, size);
	}
	return 0;
}

static int find_records(const struct callsites_file *file, struct listed_place *places, record_vec *records,
			struct pool *pool, bool check, struct gsym_diag *diag)
{
	size_t n = file->functions.n;
	CLEANUP(freep) uint32_t *index = index_names(places, n, pool);
	if (!index)
		return diag_set(diag, -ENOMEM, "out of memory");
	for (size_t i = 0; i < records->n; i++) {
		offer(places, index, &records->v[i]);
		for (uint32_t k = 0; k < records->v[i].n_merged; k++)
			offer(places, index, &records->v[i].merged[k]);
	}
	for (size_t i = 0; i < n; i++) {
		const struct listed_function *f = &file->functions.v[i];
		places[i].record = places[places[i].first].record;
		if (!places[i].record)
			places[i].record = find_successor(&places[places[i].first], records);
		if (!places[i].record)
			return diag_set(diag, -EINVAL,
					"%s:%" PRIu32 ":%" PRIu32
					": no function '%.200s' in the input: write its mangled name as in "
					"the symbol table",
					file->path, f->line, f->column, f->name.text);
		int err = check ? check_range(file, f, places[i].record, diag) : 0;
		if (err)
			return err;
	}
	return 0;
}

/* ---- Sites to one record ---- */

struct group {
	const struct callsites_file *file;
	const struct listed_place *places;
	const uint32_t *functions; /* of one record */
	size_t n;
};

static int append_function(const struct callsites_file *file, const struct listed_function *f,
			   struct pool *pool, struct func_record *r)
{
	for (uint32_t i = 0; i < f->n_sites; i++) {
		const struct listed_site *site = &file->sites.v[f->first_site + i];
		r->callsites[r->n_callsites++] = (struct gsym_callsite){
			.return_off = site->return_off,
			.first_pattern = r->n_patterns,
			.n_patterns = site->n_patterns,
			.flags = site->flags,
		};
		for (uint32_t k = 0; k < site->n_patterns; k++) {
			uint32_t string;
			if (pool_add_string(pool, &file->patterns.v[site->first_pattern + k], &string))
				return -ENOMEM;
			r->patterns[r->n_patterns++] = string;
		}
	}
	return 0;
}

/*
 * Keeps call sites from DWARF. @offs: listed return offsets, sorted, which replace them; NULL: all are kept.
 */
static void keep_told(struct func_record *r, const struct func_record *old, const uint64_t *offs,
		      size_t n_offs)
{
	for (uint32_t i = 0; i < old->n_callsites; i++) {
		const struct gsym_callsite *site = &old->callsites[i];
		if (!offs || !bsearch(&site->return_off, offs, n_offs, sizeof(*offs), compare_u64)) {
			struct gsym_callsite from = *site;
			for (uint32_t k = 0; k < from.n_patterns; k++)
				r->patterns[r->n_patterns + k] = old->patterns[site->first_pattern + k];
			from.first_pattern = r->n_patterns;
			r->n_patterns += from.n_patterns;
			r->callsites[r->n_callsites++] = from;
		}
	}
}

static const struct listed_function *group_function(const struct group *g, size_t i)
{
	return &g->file->functions.v[g->functions[i]];
}

/* Allocates arrays for the call sites of @r and @sites and @patterns more. */
static int make_room(struct func_record *r, size_t sites, size_t patterns, struct arena *arena)
{
	sites += r->n_callsites;
	patterns += r->n_patterns;
	r->callsites = arena_array(arena, sites, sizeof(*r->callsites));
	r->patterns = arena_array(arena, patterns + 1, sizeof(*r->patterns));
	r->n_callsites = r->n_patterns = 0;
	return !r->callsites || !r->patterns                 ? -ENOMEM
	       : sites > UINT32_MAX || patterns > UINT32_MAX ? -EOVERFLOW
							     : 0;
}

static int apply_group(const struct group *g, struct pool *pool, bool append, struct arena *arena)
{
	struct func_record *r = g->places[g->functions[0]].record, old = *r;
	VEC(uint64_t) offs = {0};
	size_t patterns = 0;
	int err = 0;
	for (size_t i = 0; i < g->n; i++) {
		const struct listed_function *f = group_function(g, i);
		for (uint32_t k = 0; k < f->n_sites && !err; k++) {
			const struct listed_site *site = &g->file->sites.v[f->first_site + k];
			patterns += site->n_patterns;
			err = vec_push(&offs, site->return_off);
		}
	}
	if (!err && offs.n) {
		qsort(offs.v, offs.n, sizeof(*offs.v), compare_u64);
		err = make_room(r, offs.n, patterns, arena);
		if (!err)
			keep_told(r, &old, append ? NULL : offs.v, offs.n);
		for (size_t i = 0; i < g->n && !err; i++)
			err = append_function(g->file, group_function(g, i), pool, r);
	}
	vec_free(&offs);
	return err;
}

/* ---- The whole ---- */

static int compare_records(const void *a, const void *b, void *user)
{
	const struct listed_place *places = user;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uintptr_t rx = (uintptr_t)places[x].record, ry = (uintptr_t)places[y].record;
	return COMPARE(rx, ry) ?: COMPARE(x, y);
}

int callsites_apply(const struct callsites_file *file, struct listed_place *places, record_vec *records,
		    struct pool *pool, bool append, struct arena *arena, struct gsym_diag *diag)
{
	size_t n = file->functions.n;
	int err = find_records(file, places, records, pool, !append, diag);
	CLEANUP(freep) uint32_t *order = err ? NULL : malloc((n + 1) * sizeof(*order));
	if (!err && !order)
		err = diag_set(diag, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n && !err; i++)
		order[i] = (uint32_t)i;
	if (!err && n)
		qsort_r(order, n, sizeof(*order), compare_records, places);
	for (size_t first = 0, end; first < n && !err; first = end) {
		for (end = first + 1; end < n && places[order[end]].record == places[order[first]].record;)
			end++;
		err = apply_group(&(struct group){file, places, order + first, end - first}, pool, append,
				  arena);
		if (err)
			diag_set(diag, err, "%s: %s", file->path, strerror(-err));
	}
	return err;
}
