/*
 * cv_sites.c - from sites to the tree of inlined calls of a record.
 *
 * First the function is the list of its own lines. Then its sites are laid over it, level by level: where a
 * part of a site lies on code of its caller, that becomes code of the site, called at the line that was
 * there. What lies elsewhere is dropped, so that calls are nested. In the end each stretch of the list has
 * the line and the call that are innermost; from those rows are made, and each stretch is added to its call
 * and all callers of that. A call becomes the last child of its caller with its first stretch, so that
 * siblings ascend.
 */
#include "convert/codeview/cv_parts.h"

#include "gsym/base/sort.h"
#include "gsym/base/invariant.h"
#include "gsym/base/search.h"

#include <errno.h>

enum { SAME_SITE_MAX = 8 /* calls of one site that are searched for one with the same caller */ };

void cv_sites_deinit(struct cv_sites *s)
{
	vec_free(&s->sites);
	vec_free(&s->parts);
	vec_free(&s->calls);
	vec_free(&s->flat);
	vec_free(&s->spare);
	vec_free(&s->ranges);
	vec_free(&s->order);
}

void cv_sites_clear(struct cv_sites *s)
{
	s->sites.n = s->parts.n = s->calls.n = s->flat.n = 0;
	s->written = 0;
}

/* ---- Overlay ---- */

/* The call of @site from the code of @caller. 0 or -ENOMEM. */
static int call_of(struct cv_sites *s, uint32_t site, const struct cv_stretch *caller, uint32_t *ret)
{
	uint32_t *first = &s->sites.v[site].first_call, left = SAME_SITE_MAX;
	for (uint32_t i = *first; i != NO_CALL && left; i = s->calls.v[i].next, left--) {
		const struct cv_call *c = &s->calls.v[i];
		if (c->parent == caller->call && c->file == caller->file && c->line == caller->line) {
			*ret = i;
			return 0;
		}
	}
	*ret = (uint32_t)s->calls.n;
	struct cv_call call = {.site = site,
			       .next = *first,
			       .parent = caller->call,
			       .file = caller->file,
			       .line = caller->line};
	*first = *ret;
	return vec_push(&s->calls, call);
}

static uint32_t site_of(const struct cv_sites *s, const struct cv_stretch *t)
{
	return t->call == NO_CALL ? NO_SITE : s->calls.v[t->call].site;
}

/* The parts of one level, ascending, and how far they were laid. */
struct level {
	const struct keyed *v;
	size_t n;
	size_t at;
};

/* Lays the parts of @level that begin before the end of @t over it, and appends the result to @to. */
static int overlay_stretch(struct cv_sites *s, struct level *level, struct cv_stretch t, cv_stretches *to)
{
	for (; level->at < level->n; level->at++) {
		const struct cv_site_part *p = &s->parts.v[level->v[level->at].index];
		if (p->lo >= t.hi)
			break;
		struct cv_stretch over = {p->lo > t.lo ? p->lo : t.lo, p->hi < t.hi ? p->hi : t.hi, p->file,
					  p->line};
		if (over.lo < over.hi && s->sites.v[p->site].parent == site_of(s, &t)) {
			struct cv_stretch before = t;
			before.hi = over.lo;
			if (call_of(s, p->site, &t, &over.call) || cv_append_stretch(to, before) ||
			    cv_append_stretch(to, over))
				return -ENOMEM;
			t.lo = over.hi;
		}
		if (p->hi > t.hi)
			break;
	}
	return cv_append_stretch(to, t);
}

static int overlay_level(struct cv_sites *s, struct level level)
{
	int err = 0;
	s->spare.n = 0;
	for (size_t i = 0; i < s->flat.n && !err; i++)
		err = overlay_stretch(s, &level, s->flat.v[i], &s->spare);
	cv_stretches flat = s->flat;
	s->flat = s->spare;
	s->spare = flat;
	return err;
}

/* Parts by depth, then by where they begin, then as the symbols have them. */
static int sort_parts(struct cv_sites *s)
{
	s->order.n = 0;
	if (vec_reserve(&s->order, s->parts.n))
		return -ENOMEM;
	for (size_t i = 0; i < s->parts.n; i++) {
		const struct cv_site_part *p = &s->parts.v[i];
		uint64_t depth = s->sites.v[p->site].depth;
		s->order.v[s->order.n++] = (struct keyed){depth << 32 | p->lo, (uint32_t)i};
	}
	return radix_sort(s->order.v, s->order.n);
}

int cv_sites_overlay(struct cv_sites *s, struct budget *budget)
{
	int err = sort_parts(s);
	for (size_t first = 0, end; first < s->order.n && !err; first = end) {
		uint64_t depth = s->order.v[first].key >> 32;
		for (end = first + 1; end < s->order.n && s->order.v[end].key >> 32 == depth;)
			end++;
		if (!budget_work(budget, ACCOUNT_CALLS, s->flat.n + (end - first)))
			break;
		err = overlay_level(s, (struct level){.v = s->order.v + first, .n = end - first});
	}
	return err;
}

/* ---- Ranges of calls ---- */

static int add_range(struct cv_sites *s, uint32_t index, uint32_t lo, uint32_t hi)
{
	struct cv_call *call = &s->calls.v[index];
	if (call->last_range != NO_CALL && s->ranges.v[call->last_range].hi == lo) {
		s->ranges.v[call->last_range].hi = hi;
		return 0;
	}
	uint32_t range = (uint32_t)s->ranges.n;
	if (vec_push(&s->ranges, (struct cv_call_range){lo, hi, NO_CALL}))
		return -ENOMEM;
	if (call->last_range == NO_CALL)
		call->first_range = range;
	else
		s->ranges.v[call->last_range].next = range;
	call->last_range = range;
	call->n_ranges++;
	return 0;
}

/* Adds [lo, hi) to call @index and all of its callers, which become part of the record outermost first. */
static int add_code(struct cv_sites *s, uint32_t index, uint32_t lo, uint32_t hi)
{
	uint32_t path[INLINE_DEPTH_MAX], n = 0;
	int err = 0;
	for (; index != NO_CALL; index = s->calls.v[index].parent) {
		invariant(n < INLINE_DEPTH_MAX);
		path[n++] = index;
	}
	/* Callers become part of the record outermost first. */
	while (n-- && !err) {
		struct cv_call *call = &s->calls.v[path[n]];
		if (call->written != s->written) {
			call->written = s->written;
			call->child = call->last_child = call->sibling = NO_CALL;
			call->first_range = call->last_range = NO_CALL;
			call->n_ranges = 0;
			struct cv_call *parent = call->parent == NO_CALL ? NULL : &s->calls.v[call->parent];
			uint32_t *first = parent ? &parent->child : &s->root,
				 *last = parent ? &parent->last_child : &s->last_root;
			if (*first == NO_CALL)
				*first = path[n];
			else
				s->calls.v[*last].sibling = path[n];
			*last = path[n];
		}
		err = add_range(s, path[n], lo, hi);
	}
	return err;
}

/* ---- Records ---- */

/* Ranges of all calls, as many as the module can pay for: 0, -EFBIG or -ENOMEM. */
static int collect_ranges(struct cv_sites *s, struct budget *budget)
{
	size_t most = budget->left[ACCOUNT_CALLS].memory / sizeof(struct gsym_range);
	s->ranges.n = 0;
	s->written++;
	s->root = s->last_root = NO_CALL;
	for (size_t i = 0; i < s->spare.n; i++) {
		const struct cv_stretch *t = &s->spare.v[i];
		if (t->call == NO_CALL)
			continue;
		if (s->ranges.n > most ||
		    !budget_work(budget, ACCOUNT_CALLS, s->sites.v[site_of(s, t)].depth))
			return -EFBIG;
		if (add_code(s, t->call, t->lo, t->hi))
			return -ENOMEM;
	}
	return 0;
}

/* In preorder, without recursion: calls know their callers. */
static void write_calls(const struct cv_sites *s, struct func_record *out)
{
	uint32_t at = s->root;
	while (at != NO_CALL) {
		const struct cv_call *call = &s->calls.v[at];
		const struct cv_site *site = &s->sites.v[call->site];
		out->inlines[out->n_inlines++] = (struct gsym_inline){
			.name = site->name,
			.call_file = call->file,
			.call_line = call->line,
			.depth = site->depth,
			.first_range = out->n_ranges,
			.n_ranges = call->n_ranges,
		};
		for (uint32_t i = call->first_range; i != NO_CALL; i = s->ranges.v[i].next) {
			const struct cv_call_range *r = &s->ranges.v[i];
			out->ranges[out->n_ranges++] = (struct gsym_range){r->lo, r->hi - r->lo};
		}
		at = call->child;
		while (at == NO_CALL && call->sibling == NO_CALL && call->parent != NO_CALL)
			call = &s->calls.v[call->parent];
		at = at == NO_CALL ? call->sibling : at;
	}
	invariant(out->n_ranges == s->ranges.n);
}

static int write_inlines(struct cv_sites *s, struct arena *arena, struct budget *budget,
			 struct func_record *out)
{
	if (!s->calls.n || !budget_work(budget, ACCOUNT_CALLS, s->calls.n))
		return 0;
	int err = collect_ranges(s, budget);
	if (err)
		return err == -ENOMEM ? err : 0;
	size_t n = 0;
	for (size_t i = 0; i < s->calls.n; i++)
		n += s->calls.v[i].written == s->written;
	if (!budget_memory(budget, ACCOUNT_CALLS,
			   n * sizeof(*out->inlines) + s->ranges.n * sizeof(*out->ranges)))
		return 0;
	out->inlines = arena_array(arena, n, sizeof(*out->inlines));
	out->ranges = arena_array(arena, s->ranges.n, sizeof(*out->ranges));
	if (!out->inlines || !out->ranges)
		return -ENOMEM;
	write_calls(s, out);
	invariant(out->n_inlines == n);
	return 0;
}

/* Rows of the stretches in s->spare, if the module can pay for them. 0 or -ENOMEM. */
static int write_rows(struct cv_sites *s, struct arena *arena, struct budget *budget, struct func_record *out)
{
	if (!budget_memory(budget, ACCOUNT_ROWS, s->spare.n * sizeof(*out->rows)))
		return 0;
	out->rows = arena_array(arena, s->spare.n, sizeof(*out->rows));
	if (!out->rows)
		return -ENOMEM;
	/* A function that begins without a line needs no row there. */
	for (size_t i = 0; i < s->spare.n; i++) {
		const struct cv_stretch *t = &s->spare.v[i];
		const struct gsym_row *last = out->n_rows ? &out->rows[out->n_rows - 1] : NULL;
		bool same = last ? last->file == t->file && last->line == t->line : !t->file && !t->line;
		if (!same)
			out->rows[out->n_rows++] = (struct gsym_row){t->lo, t->file, t->line};
	}
	return 0;
}

int cv_sites_write(struct cv_sites *s, const struct pdb_piece *pieces, size_t n, struct arena *arena,
		   struct budget *budget, struct func_record *out)
{
	uint32_t at = 0;
	int err = 0;
	s->spare.n = 0;
	for (size_t i = 0; i < n && !err; i++) {
		const struct pdb_piece *piece = &pieces[i];
		const struct cv_stretch *v = s->flat.v;
		uint32_t lo = piece->off, hi = lo + piece->size;
		size_t first = PARTITION_POINT(0, s->flat.n, mid, v[mid].hi <= lo);
		size_t end = PARTITION_POINT(first, s->flat.n, mid, v[mid].lo < hi);
		bool paid = budget_work(budget, ACCOUNT_ROWS, end - first) ||
			    (s->calls.n && budget_work(budget, ACCOUNT_CALLS, end - first));
		err = paid ? 0 : -EFBIG;
		for (size_t k = first; k < end && !err; k++) {
			struct cv_stretch t = v[k];
			t.lo = at + (t.lo > lo ? t.lo - lo : 0);
			t.hi = at + (t.hi < hi ? t.hi : hi) - lo;
			err = cv_append_stretch(&s->spare, t);
		}
		at += piece->size;
	}
	if (err)
		return err == -ENOMEM ? err : 0;
	err = write_rows(s, arena, budget, out);
	return err ? err : write_inlines(s, arena, budget, out);
}
