/*
 * builder.c - the records of one unit: the order of the steps.
 *
 * All that entries may share is visited and kept within the unit's budget (budget.h), so that a hostile file
 * cannot make the work quadratic.
 */
#include "convert/build/builder.h"

#include "convert/build/unit_builder.h"
#include "convert/object/source_format.h"
#include "gsym/base/invariant.h"

#include <libdwarf/dwarf.h>
#include <string.h>

enum { FIRST_NAME_SLOTS = 4096 };

struct unit_builder *builder_new(const struct build_context *context)
{
	struct unit_builder *b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->context = context;
	b->unit.abbrevs.keeps_columns = b->skeleton.abbrevs.keeps_columns = context->columns;
	b->lines.keeps_columns = context->columns;
	b->slot_mask = FIRST_NAME_SLOTS - 1;
	b->names = names_new(&b->warnings);
	b->slots = calloc(FIRST_NAME_SLOTS, sizeof(*b->slots));
	if (b->names && b->slots)
		return b;
	builder_free(b);
	return NULL;
}

void builder_free(struct unit_builder *b)
{
	if (!b)
		return;
	split_file_close(b->split);
	names_free(b->names);
	free(b->slots);
	unit_deinit(&b->unit);
	unit_deinit(&b->skeleton);
	line_table_deinit(&b->lines);
	arena_free(&b->arena);
	text_set_deinit(&b->texts);
	text_deinit(&b->made);
	vec_free(&b->subprograms);
	vec_free(&b->inlined_calls);
	vec_free(&b->calls);
	vec_free(&b->folded);
	vec_free(&b->callsites);
	vec_free(&b->patterns);
	vec_free(&b->ranges);
	vec_free(&b->records);
	vec_free(&b->strings);
	vec_free(&b->files);
	vec_free(&b->file_map);
	vec_free(&b->rows);
	vec_free(&b->inlines);
	vec_free(&b->inline_ranges);
	vec_free(&b->kept);
	vec_free(&b->subprogram_ranges);
	vec_free(&b->covered);
	vec_free(&b->extents);
	vec_free(&b->bodies);
	vec_free(&b->unit_ranges);
	free(b);
}

const struct warnings *builder_warnings(const struct unit_builder *b)
{
	return &b->warnings;
}

bool builder_has_ada(const struct unit_builder *b)
{
	return b->has_ada;
}

uint64_t builder_work(const struct unit_builder *b)
{
	return b->work;
}

uint64_t builder_split_input(const struct unit_builder *b)
{
	return b->input;
}

/* ---- Records ---- */

static int build_range(struct unit_builder *b, uint32_t index, struct range range,
		       const struct name_slot *name)
{
	struct range extent;
	int err = builder_extent(b, range, name, &extent);
	if (!err)
		err = builder_rows(b, extent, range.lo, &b->subprograms.v[index]);
	if (!err)
		err = builder_inlines(b, index, extent.lo, extent.hi);
	if (b->declared && b->inlines.n && !b->context->match_llvm)
		b->rows.n = 0; /* the line of the declaration would be wrong for code inlined into it */
	if (!err)
		err = builder_callsites(b, index, extent.lo, extent.hi);
	if (err)
		return err;
	struct func_record r = {
		.start = extent.lo,
		.end = extent.hi,
		.name = name->string,
		.bare = name->bare,
		.linkage = name->linkage,
		.assembly = b->unit.language == DW_LANG_Mips_Assembler,
		.kind = RECORD_DWARF,
	};
	if (b->rows.n && vec_push(&b->covered, extent))
		return -ENOMEM;
	return builder_keep_record(b, &r);
}

static bool is_wanted(const struct unit_builder *b, struct range range)
{
	return !b->context->wanted || b->context->wanted(b->context->wanted_user, range.lo);
}

static int build_subprogram(struct unit_builder *b, uint32_t index)
{
	const struct subprogram *subprogram = &b->subprograms.v[index];
	struct name_slot name;
	bool any = !b->context->wanted;
	for (uint32_t i = 0; i < subprogram->n_ranges && !any; i++)
		any = is_wanted(b, b->ranges.v[subprogram->first_range + i]);
	if (!any)
		return 0;
	int err = builder_name(b, subprogram->name_key, &name);
	if (err)
		return err;
	if (name.string == NO_STRING) { /* a symbol may still name it */
		warning_count(&b->warnings, WARN_NO_NAME, ".debug_info", subprogram->die_off);
		if (b->context->match_llvm)
			return 0;
	}
	b->subprogram_ranges.n = 0;
	if (vec_reserve(&b->subprogram_ranges, subprogram->n_ranges))
		return -ENOMEM;
	memcpy(b->subprogram_ranges.v, b->ranges.v + subprogram->first_range,
	       subprogram->n_ranges * sizeof(*b->subprogram_ranges.v));
	b->subprogram_ranges.n = ranges_join(b->subprogram_ranges.v, subprogram->n_ranges);
	for (uint32_t i = 0; i < subprogram->n_ranges && !err; i++)
		if (is_wanted(b, b->ranges.v[subprogram->first_range + i]))
			err = build_range(b, index, b->ranges.v[subprogram->first_range + i], &name);
	return err;
}

/* ---- Rows for symbols without a function entry ---- */

static bool row_begins(const struct line_table *lines, const struct line_seq *seq, uint64_t addr)
{
	size_t at = PARTITION_POINT(seq->first, seq->end, mid, lines->rows.v[mid].addr < addr);
	return at < seq->end && lines->rows.v[at].addr == addr;
}

static bool function_begins(const struct unit_builder *b, uint64_t addr)
{
	size_t at = PARTITION_POINT(0, b->extents.n, mid, b->extents.v[mid].lo < addr);
	return at < b->extents.n && b->extents.v[at].lo == addr;
}

/*
 * Returns the address from which a symbol needs rows of its own: its start if no function covers that, or if
 * it is a function within another's code; the end of the function there, if the symbol ends later and no
 * other function begins in between; else the symbol's end.
 */
static uint64_t orphan_rest(const struct unit_builder *b, const struct code_symbol *s)
{
	const struct range *function = ranges_find(&b->covered, s->addr);
	if (!function || (!s->label && !function_begins(b, s->addr)))
		return s->addr;
	const struct range *next = function + 1, *end = b->covered.v + b->covered.n;
	bool alone = next == end || next->lo >= s->end;
	return alone && !s->inferred && !s->label && function->hi < s->end ? function->hi : s->end;
}

static int build_orphan(struct unit_builder *b, const struct code_symbol *s, const struct line_seq *seq)
{
	if (s->end <= seq->lo || s->end <= s->addr || s->end - s->addr > UINT32_MAX ||
	    (s->marker && !row_begins(&b->lines, seq, s->addr)))
		return 0;
	uint64_t rest = orphan_rest(b, s);
	if (rest == s->end)
		return 0;
	int err = builder_rows(b, (struct range){rest, s->end}, rest, NULL);
	if (err || !b->rows.n)
		return err;
	for (uint32_t i = 0; i < b->rows.n; i++)
		b->rows.v[i].off += rest - s->addr;
	struct func_record r = {
		.start = s->addr, .end = s->end, .name = NO_STRING, .bare = NO_STRING, .kind = RECORD_LINES};
	b->inlines.n = b->inline_ranges.n = 0;
	b->callsites.n = b->patterns.n = 0;
	return builder_keep_record(b, &r);
}

/*
 * Assembly labels, thunks, functions that the compiler merged with an identical one, and those of assembly
 * statements have rows but no entry. Their rows become a RECORD_LINES at the symbol's address, used if no
 * other record has rows there. So do those of code in a symbol after the end of its entry: rustc's entries
 * for Windows leave out code that cleans up, which unwind data has.
 */
static int build_orphans(struct unit_builder *b)
{
	const symbol_vec *symbols = b->context->symbols;
	size_t done = 0; /* symbols before this index are done */
	ranges_sort(b->covered.v, b->covered.n);
	b->extents.n = 0;
	for (size_t i = 0; i < b->covered.n; i++)
		if (vec_push(&b->extents, b->covered.v[i]))
			return -ENOMEM;
	ranges_normalize(&b->covered);
	for (size_t i = 0; i < b->lines.seqs.n; i++) {
		const struct line_seq *seq = &b->lines.seqs.v[i];
		size_t s = symtab_lower_bound(symbols, seq->lo);
		while (s > done && symbols->v[s - 1].reach > seq->lo)
			s--;
		for (s = s > done ? s : done; s < symbols->n && symbols->v[s].addr < seq->hi; s++) {
			if (!budget_work(&b->unit.budget, ACCOUNT_ROWS, 1))
				return 0;
			int err = build_orphan(b, &symbols->v[s], seq);
			if (err)
				return err;
		}
		done = s > done ? s : done;
	}
	return 0;
}

/* ---- The unit ---- */

void builder_forget(struct unit_builder *b, const struct dwarf *dwarf)
{
	names_forget(b->names, dwarf);
	abbrev_table_forget(&b->unit.abbrevs);
	abbrev_table_forget(&b->skeleton.abbrevs);
	if (b->lines.dwarf == dwarf)
		b->lines.dwarf = NULL;
}

static void close_split(struct unit_builder *b)
{
	if (!b->split)
		return;
	builder_forget(b, &b->split->dwarf);
	split_file_close(b->split);
	b->split = NULL;
}

static int open_split(struct unit_builder *b)
{
	if (b->split && split_file_serves(b->split, &b->unit))
		return 0;
	close_split(b);
	return b->context->split ? split_find(b->context->split, &b->unit, &b->warnings, &b->split) : -ENOENT;
}

/*
 * Loads the split unit of the skeleton in b->unit. If it is not found, or damaged, the skeleton's line table
 * is still used for symbols.
 */
static int load_split(struct unit_builder *b, const char **ret_missing)
{
	int err = open_split(b);
	if (err == -ENOENT) {
		warning_count(&b->warnings, WARN_SPLIT_UNIT, ".debug_info", b->unit.header->off);
		*ret_missing = b->unit.dwo_name;
		return 0;
	}
	if (err)
		return err == -EBADMSG ? 0 : err; /* which is counted */
	struct unit swap = b->skeleton;
	b->skeleton = b->unit;
	b->unit = swap;
	b->is_split = true;
	return unit_load_split(&b->unit, &b->skeleton, &b->split->dwarf, b->split->header, &b->warnings);
}

int builder_load(struct unit_builder *b, const struct unit_header *header, const char **ret_missing)
{
	int err = unit_load(&b->unit, b->context->dwarf, header, &b->warnings);
	if (!err && b->unit.dwo_name) /* its own entries (-fsplit-dwarf-inlining) are a subset */
		err = load_split(b, ret_missing);
	b->has_ada |= !err && language_is_ada(b->unit.language);
	return err ? err : builder_walk(b);
}

int builder_load_lines(struct unit_builder *b)
{
	b->lines.keeps_all = b->context->match_llvm || b->unit.main->object->format->keeps_rows;
	b->lines.code = b->context->match_llvm || !b->context->text->n ? NULL : b->context->text;
	int err = line_table_read(&b->lines, &b->unit);
	return err ? err : builder_reset_files(b);
}

static int build(struct unit_builder *b, const struct unit_header *header, const char **ret_missing)
{
	int err = builder_load(b, header, ret_missing);
	if (!err && b->unit.is_partial && !b->subprograms.n && !b->folded.n)
		return 0; /* its line table has the files of declarations only */
	if (!err)
		err = builder_load_lines(b);
	for (uint32_t i = 0; i < b->subprograms.n && !err; i++)
		err = build_subprogram(b, i);
	if (!err && b->folded.n)
		err = builder_folded(b);
	return err || b->context->match_llvm ? err : build_orphans(b);
}

void builder_begin(struct unit_builder *b, size_t index)
{
	b->warnings.order = index;
	b->subprograms.n = b->inlined_calls.n = b->calls.n = b->folded.n = b->ranges.n = 0;
	b->records.n = b->strings.n = b->files.n = 0;
	b->covered.n = b->bodies.n = b->unit_ranges.n = 0;
	b->has_unit_ranges = false;
	b->n_names = 0;
	b->generation++;
	b->is_split = false;
	b->unit.budget = (struct budget){0};
}

void builder_unit_of(struct unit_builder *b, const struct unit_header *header, size_t index,
		     struct unit_result *ret)
{
	builder_begin(b, index);
	*ret = (struct unit_result){0};
	ret->err = build(b, header, &ret->missing);
	b->work += b->unit.budget.done;
	b->input += b->is_split ? b->unit.header->input : 0;
	if (b->unit.budget.exceeded)
		warning_count(&b->warnings, WARN_UNIT_BUDGET, ".debug_info", header->off);
	if (!ret->err)
		ret->err = builder_keep_result(b, ret);
}

void builder_unit(struct unit_builder *b, size_t index, struct unit_result *ret)
{
	invariant(index < b->context->dwarf->n_units);
	builder_unit_of(b, &b->context->dwarf->units[index], index, ret);
}
