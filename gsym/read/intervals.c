#include "gsym/read/intervals.h"

#include "gsym/base/invariant.h"
#include "gsym/codec/linetab.h"

#include <errno.h>

void intervals_deinit(struct interval_set *s)
{
	vec_free(&s->v);
	vec_free(&s->nodes);
	vec_free(&s->rows);
	vec_free(&s->edges);
	vec_free(&s->points);
	vec_free(&s->next);
	vec_free(&s->sorted);
}

static size_t block_size(const struct function_info *record, enum info_type type)
{
	return record_has(record, type) ? cursor_left(&record->blocks[type]) : 0;
}

size_t intervals_cost(const struct function_info *record)
{
	return block_size(record, InfoType_LineTable) + block_size(record, InfoType_InlineInfo);
}

/* Empty intervals at 0, at all rows and at all edges, each once. */
static int merge_offsets(struct interval_set *s)
{
	size_t a = 0, b = 0, n = 0;
	s->v.n = 0;
	invariant(offsets_ascend(s->rows.v, s->rows.n) && offsets_ascend(s->edges.v, s->edges.n));
	if (vec_reserve(&s->v, s->rows.n + s->edges.n + 1))
		return -ENOMEM;
	struct interval *v = s->v.v;
	v[n++] = (struct interval){.off = 0};
	while (a < s->rows.n || b < s->edges.n) {
		bool row = b == s->edges.n || (a < s->rows.n && s->rows.v[a] < s->edges.v[b]);
		uint32_t off = row ? s->rows.v[a++] : s->edges.v[b++];
		v[n] = (struct interval){.off = off};
		n += v[n - 1].off != off;
	}
	s->v.n = n;
	return 0;
}

static int fill_intervals(struct interval_set *s, const struct function_info *record,
			  const struct gsym_tables *tables)
{
	s->nodes.n = 0;
	if (vec_push(&s->nodes, (struct interval_node){0}))
		return -ENOMEM;
	if (record_has(record, InfoType_LineTable))
		linetab_sweep(record->blocks[InfoType_LineTable], s->v.v, s->v.n);
	return record_has(record, InfoType_InlineInfo)
		       ? inline_sweep(s, record->blocks[InfoType_InlineInfo], tables)
		       : 0;
}

/* Merges adjacent intervals with equal results. */
static void join(struct interval_set *s)
{
	struct interval *v = s->v.v;
	size_t n = 1;
	for (size_t i = 1; i < s->v.n; i++) {
		const struct interval *last = &v[n - 1];
		if (v[i].file != last->file || v[i].line != last->line || v[i].node != last->node)
			v[n++] = v[i];
	}
	s->v.n = n;
}

int intervals_cut(struct interval_set *s, const struct function_info *record,
		  const struct gsym_tables *tables, uint32_t last)
{
	int err = 0;
	if (intervals_cost(record) > CUT_COST_MAX)
		return -E2BIG;
	s->rows.n = s->edges.n = 0;
	if (record_has(record, InfoType_LineTable))
		err = linetab_offsets(record->blocks[InfoType_LineTable], last, &s->rows);
	if (!err && record_has(record, InfoType_InlineInfo))
		err = inline_offsets(record->blocks[InfoType_InlineInfo], tables, last, &s->edges);
	if (!err)
		err = offsets_sort(&s->edges, 0, &s->sorted);
	if (!err)
		err = merge_offsets(s);
	if (!err)
		err = fill_intervals(s, record, tables);
	if (!err)
		join(s);
	return err;
}

int intervals_at(struct interval_set *s, const struct function_info *record, const struct gsym_tables *tables)
{
	s->v.n = 0;
	if (offsets_sort(&s->edges, 0, &s->sorted))
		return -ENOMEM;
	for (size_t i = 0; i < s->edges.n; i++) {
		struct interval interval = {.off = s->edges.v[i]};
		if ((!i || s->edges.v[i - 1] != interval.off) && vec_push(&s->v, interval))
			return -ENOMEM;
	}
	return s->v.n ? fill_intervals(s, record, tables) : 0;
}
