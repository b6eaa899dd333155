/*
 * Decoding whole function records.
 *
 * The functions of one record (it and those merged with it) share growing arrays, which move while they grow.
 * So first everything is decoded and only marks are kept, then the pointers are set.
 */
#include "gsym/codec/record.h"

#include "gsym/base/invariant.h"
#include "gsym/base/diag.h"
#include "gsym/codec/callsite.h"
#include "gsym/codec/inline.h"
#include "gsym/codec/linetab.h"

#include <inttypes.h>

static struct decoder_mark mark(const struct gsym_decoder *d)
{
	return (struct decoder_mark){d->rows.n, d->inlines.n, d->ranges.n, d->callsites.n, d->patterns.n};
}

static void truncate_to(struct gsym_decoder *d, const struct decoder_mark *m)
{
	d->rows.n = m->rows;
	d->inlines.n = m->inlines;
	d->ranges.n = m->ranges;
	d->callsites.n = m->callsites;
	d->patterns.n = m->patterns;
}

/* What becomes of a part that failed with @err: damage may be left out, with all decoded since @before. */
static int leave_out(struct gsym_decoder *d, const struct decoder_mark *before, int err)
{
	if (err != -EBADMSG || !d->salvages)
		return err;
	truncate_to(d, before);
	d->n_lost++;
	return 0;
}

static int decode_one(const struct function_info *r, uint64_t start, const struct gsym_tables *tables,
		      struct gsym_decoder *d, struct gsym_diag *diag)
{
	struct gsym_func func = {.start = start, .name = r->name, .size = r->size};
	if (vec_push(&d->marks, mark(d)) || vec_push(&d->funcs, func))
		return diag_set(diag, -ENOMEM, "function record: no memory");
	struct cursor lines = r->blocks[InfoType_LineTable];
	struct cursor inlines = r->blocks[InfoType_InlineInfo];
	struct cursor callsites = r->blocks[InfoType_CallSiteInfo];
	struct decoder_mark before = mark(d);
	int err = 0;
	if (record_has(r, InfoType_LineTable))
		err = leave_out(d, &before, linetab_decode(&lines, r->size, tables, d, diag));
	before = mark(d);
	if (!err && record_has(r, InfoType_InlineInfo))
		err = leave_out(d, &before, inline_decode(&inlines, r->size, tables, d, diag));
	before = mark(d);
	if (!err && record_has(r, InfoType_CallSiteInfo))
		err = leave_out(d, &before, callsite_decode(&callsites, tables, d, diag));
	return err;
}

/* A record of the merged list: like the one that holds it, except that merged functions do not nest. */
static int decode_merged_one(struct cursor c, const struct function_info *holder, uint64_t start,
			     const struct gsym_tables *tables, struct gsym_decoder *d, struct gsym_diag *diag)
{
	struct function_info r;
	int err = record_parse(c, tables, &r, diag);
	if (err)
		return err;
	if (record_has(&r, InfoType_MergedFunctionsInfo) || r.size != holder->size)
		return diag_set(diag, -EBADMSG, "merged function record at offset 0x%" PRIx64 ": %s", r.off,
				r.size != holder->size ? "its size is not that of its holder"
						       : "has merged functions of its own");
	err = decode_one(&r, start, tables, d, diag);
	return err ? diag_prefix(diag, err, "merged function record at offset 0x%" PRIx64, r.off) : 0;
}

static int decode_merged(const struct function_info *holder, uint64_t start, const struct gsym_tables *tables,
			 struct gsym_decoder *d, struct gsym_diag *diag)
{
	struct cursor block = holder->blocks[InfoType_MergedFunctionsInfo], c;
	uint32_t count;
	int err = merged_count(&block, &count, diag);
	for (uint32_t i = 0; !err && i < count; i++) {
		struct decoder_mark before = mark(d);
		size_t n = d->funcs.n;
		err = merged_next(&block, &c, diag);
		if (err)
			break;
		err = decode_merged_one(c, holder, start, tables, d, diag);
		if (err && (err = leave_out(d, &before, err)) == 0)
			d->funcs.n = d->marks.n = n;
	}
	struct decoder_mark end = mark(d);
	return err ? leave_out(d, &end, err) : 0;
}

/* An array that never grew has no address to add to. */
static const void *element(const void *array, size_t index, size_t size)
{
	return array ? (const char *)array + index * size : NULL;
}

#define STRETCH(vec, from) element((vec).v, (from), sizeof(*(vec).v))

/* The arrays no longer move: points function @i at its stretches, which end where those of the next begin. */
static void set_pointers(struct gsym_decoder *d, size_t i, const struct decoder_mark *end)
{
	const struct decoder_mark *at = &d->marks.v[i];
	struct gsym_func *f = &d->funcs.v[i];
	invariant(at->rows <= end->rows && at->inlines <= end->inlines && at->ranges <= end->ranges &&
		  at->callsites <= end->callsites && at->patterns <= end->patterns);
	f->rows = STRETCH(d->rows, at->rows);
	f->n_rows = end->rows - at->rows;
	f->inlines = STRETCH(d->inlines, at->inlines);
	f->n_inlines = end->inlines - at->inlines;
	f->ranges = STRETCH(d->ranges, at->ranges);
	f->n_ranges = end->ranges - at->ranges;
	f->callsites = STRETCH(d->callsites, at->callsites);
	f->n_callsites = end->callsites - at->callsites;
	f->patterns = STRETCH(d->patterns, at->patterns);
	f->n_patterns = end->patterns - at->patterns;
}

int record_decode(const struct function_info *r, uint64_t start, const struct gsym_tables *tables,
		  struct gsym_decoder *out, struct gsym_diag *diag)
{
	out->rows.n = out->inlines.n = out->ranges.n = out->callsites.n = out->patterns.n = 0;
	out->funcs.n = out->marks.n = 0;
	int err = decode_one(r, start, tables, out, diag);
	if (!err && record_has(r, InfoType_MergedFunctionsInfo))
		err = decode_merged(r, start, tables, out, diag);
	if (err)
		return diag_prefix(diag, err, "function record at offset 0x%" PRIx64, r->off);
	struct decoder_mark end = mark(out);
	for (size_t i = out->funcs.n; i-- > 0; end = out->marks.v[i])
		set_pointers(out, i, &end);
	out->funcs.v[0].merged = out->funcs.v + 1;
	out->funcs.v[0].n_merged = out->funcs.n - 1;
	return 0;
}
