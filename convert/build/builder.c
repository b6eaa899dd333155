/*
 * builder.c - the records of one unit: names, files, and the order of the steps.
 *
 * Names are cached by the offset of their entry in an open-addressing table (probe.h), which a new generation
 * number empties between units. Strings and files are numbered within the unit; merging renumbers them. All
 * that entries may share is visited and kept within the unit's budget (budget.h), so that a hostile file
 * cannot make the work quadratic.
 */
#include "convert/build/builder.h"

#include "convert/build/unit_builder.h"
#include "convert/dwarf/dwarf_stream.h"
#include "convert/object/source_format.h"
#include "gsym/base/invariant.h"
#include "gsym/base/probe.h"

#include <libdwarf/dwarf.h>
#include <string.h>

enum {
	FIRST_NAME_SLOTS = 4096,
	NAME_MAX_SIZE =
		32 *
		1024, /* longer ones are truncated: thousands of names could be suffixes of one long string */
};

struct unit_builder *builder_new(const struct build_context *context)
{
	struct unit_builder *b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->context = context;
	b->slot_mask = FIRST_NAME_SLOTS - 1;
	b->names = names_new(&b->odd);
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
	vec_free(&b->bodies);
	vec_free(&b->unit_ranges);
	free(b);
}

const struct oddities *builder_oddities(const struct unit_builder *b)
{
	return &b->odd;
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

/* ---- Strings ---- */

/* Whether the result gets copies of strings: the file is closed before it is used; a package stays open. */
static bool owns_strings(const struct unit_builder *b)
{
	return b->context->closes || (b->is_split && b->split->object);
}

/* Whether a string of a section is lost before the result is used: its file is closed, or its unit, in whose
 * entries it is, is given back. */
static bool is_lost(const struct unit_builder *b, const char *text)
{
	return owns_strings(b) || dwarf_is_transient(b->unit.dwarf, text);
}

static int keep_string(struct unit_builder *b, struct pool_string *string)
{
	return text_set_keep(&b->texts, &b->arena, string);
}

/* ---- Files ---- */

int builder_file(struct unit_builder *b, uint64_t index, uint32_t *ret)
{
	if (!line_table_has_file(&b->lines, index)) {
		*ret = 0;
		return index == 0 && b->lines.version < 5 ? 0 : -ENOENT;
	}
	*ret = b->file_map.v[index];
	if (*ret)
		return 0;
	struct span dir, base;
	int err = line_table_path(&b->lines, &b->unit, index, &b->made, &dir, &base);
	if (err)
		return err == -EDQUOT ? 0 : err; /* no file, rather than no row */
	struct unit_file file = {pool_string_of((const char *)dir.data, dir.size),
				 pool_string_of((const char *)base.data, base.size)};
	if (keep_string(b, &file.dir) || keep_string(b, &file.base) || vec_push(&b->files, file))
		return -ENOMEM;
	*ret = b->file_map.v[index] = (uint32_t)b->files.n;
	return 0;
}

static int reset_file_map(struct unit_builder *b)
{
	size_t n = b->lines.files.n + 1; /* before version 5 the first file has index 1 */
	b->file_map.n = 0;
	if (vec_reserve(&b->file_map, n))
		return -ENOMEM;
	memset(b->file_map.v, 0, n * sizeof(*b->file_map.v));
	b->file_map.n = n;
	return 0;
}

/* ---- Names ---- */

static struct name_slot *find_slot(struct name_slot *slots, size_t mask, uint32_t generation, uint64_t key)
{
	uint64_t x = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;
	return &slots[PROBE(i, x ^ x >> 32, mask, slots[i].generation != generation || slots[i].key == key)];
}

static int grow_slots(struct unit_builder *b)
{
	size_t mask = b->slot_mask * 2 + 1;
	struct name_slot *slots = calloc(mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i <= b->slot_mask; i++)
		if (b->slots[i].generation == b->generation)
			*find_slot(slots, mask, b->generation, b->slots[i].key) = b->slots[i];
	free(b->slots);
	b->slots = slots;
	b->slot_mask = mask;
	return 0;
}

/* @made: @text is in b->made, and paid for */
static int add_string(struct unit_builder *b, const char *text, bool made, uint32_t *ret)
{
	struct budget *budget = &b->unit.budget;
	bool lost = is_lost(b, text);
	*ret = NO_STRING;
	int64_t size = text ? budget_text(budget, ACCOUNT_NAMES, text, NAME_MAX_SIZE) : -1;
	if (size < 0 || (lost && !budget_memory(budget, ACCOUNT_NAMES, (uint64_t)size)))
		return 0;
	struct pool_string string = pool_string_of(text, (size_t)size);
	*ret = (uint32_t)b->strings.n;
	if ((lost || made) && keep_string(b, &string))
		return -ENOMEM;
	return vec_push(&b->strings, string);
}

int builder_name(struct unit_builder *b, uint64_t key, struct name_slot *ret)
{
	struct name_slot *slot = find_slot(b->slots, b->slot_mask, b->generation, key);
	if (slot->generation == b->generation) {
		*ret = *slot;
		return 0;
	}
	struct die_name name;
	int err = names_resolve(b->names, &b->unit, key, &b->made, &name);
	if (err)
		return err;
	struct name_slot new = {.key = key, .generation = b->generation, .linkage = name.linkage};
	if (add_string(b, name.text, name.bare != NULL, &new.string) ||
	    add_string(b, name.bare, false, &new.bare))
		return -ENOMEM;
	*slot = *ret = new;
	return ++b->n_names * 2 > b->slot_mask ? grow_slots(b) : 0;
}

/* ---- Records ---- */

/* Copies an array from scratch to @arena; NULL if it is empty. */
static int keep_copy(struct arena *arena, const void *v, size_t n, size_t elem, void *ret)
{
	void *copy = n ? arena_array(arena, n, elem) : NULL;
	if (n && !copy)
		return -ENOMEM;
	if (n)
		memcpy(copy, v, n * elem);
	memcpy(ret, &copy, sizeof(copy));
	return 0;
}

/* Takes memory for the scratch of one function; what exceeds the budget is dropped. */
static void fit_scratch(struct unit_builder *b)
{
	struct budget *budget = &b->unit.budget;
	if (!budget_memory(budget, ACCOUNT_ROWS, b->rows.n * sizeof(*b->rows.v)))
		b->rows.n = 0;
	if (!budget_memory(budget, ACCOUNT_CALLS,
			   b->inlines.n * sizeof(*b->inlines.v) +
				   b->inline_ranges.n * sizeof(*b->inline_ranges.v)))
		b->inlines.n = b->inline_ranges.n = 0;
	if (!budget_memory(budget, ACCOUNT_CALLS,
			   b->callsites.n * sizeof(*b->callsites.v) + b->patterns.n * sizeof(*b->patterns.v)))
		b->callsites.n = b->patterns.n = 0;
}

int builder_keep_record(struct unit_builder *b, struct func_record *r)
{
	if (!budget_memory(&b->unit.budget, ACCOUNT_RECORDS, sizeof(*r)))
		return 0;
	fit_scratch(b);
	r->n_rows = (uint32_t)b->rows.n;
	r->n_inlines = (uint32_t)b->inlines.n;
	r->n_ranges = (uint32_t)b->inline_ranges.n;
	r->n_callsites = (uint32_t)b->callsites.n;
	r->n_patterns = (uint32_t)b->patterns.n;
	if (keep_copy(&b->arena, b->rows.v, b->rows.n, sizeof(*r->rows), &r->rows) ||
	    keep_copy(&b->arena, b->inlines.v, b->inlines.n, sizeof(*r->inlines), &r->inlines) ||
	    keep_copy(&b->arena, b->inline_ranges.v, b->inline_ranges.n, sizeof(*r->ranges), &r->ranges) ||
	    keep_copy(&b->arena, b->callsites.v, b->callsites.n, sizeof(*r->callsites), &r->callsites) ||
	    keep_copy(&b->arena, b->patterns.v, b->patterns.n, sizeof(*r->patterns), &r->patterns))
		return -ENOMEM;
	return vec_push(&b->records, *r);
}

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

static bool any_wanted(const struct unit_builder *b, const struct subprogram *subprogram)
{
	bool any = !b->context->wanted;
	for (uint32_t i = 0; i < subprogram->n_ranges && !any; i++)
		any = is_wanted(b, b->ranges.v[subprogram->first_range + i]);
	return any;
}

static int build_subprogram(struct unit_builder *b, uint32_t index)
{
	const struct subprogram *subprogram = &b->subprograms.v[index];
	struct name_slot name;
	if (!any_wanted(b, subprogram))
		return 0;
	int err = builder_name(b, subprogram->name_key, &name);
	if (err)
		return err;
	if (name.string == NO_STRING) { /* a symbol may still name it */
		oddity_count(&b->odd, ODD_NO_NAME, ".debug_info", subprogram->die_off);
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

/*
 * Where rows are wanted for a symbol: from its start, or from the end of the function there if that is before
 * the end of the symbol, and no other function begins between the two. Its end if nowhere.
 */
static uint64_t orphan_rest(const struct unit_builder *b, const struct code_symbol *s)
{
	const struct range *function = ranges_find(&b->covered, s->addr);
	if (!function)
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
 * Assembly labels, thunks and functions that the compiler merged with an identical one have rows but no
 * entry. Their rows become a RECORD_LINES at the symbol's address, used if no other record has rows there.
 * So do those of code in a symbol after the end of its entry: rustc's entries for Windows leave out code that
 * cleans up, which unwind data has.
 */
static int build_orphans(struct unit_builder *b)
{
	const symbol_vec *symbols = b->context->symbols;
	size_t done = 0; /* symbols before this index are done */
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
	return b->context->split ? split_find(b->context->split, &b->unit, &b->odd, &b->split) : -ENOENT;
}

/*
 * Loads the split unit of the skeleton in b->unit. If it is not found, the skeleton's line table is still
 * used for symbols.
 */
static int load_split(struct unit_builder *b, const char **ret_missing)
{
	int err = open_split(b);
	if (err == -ENOENT) {
		oddity_count(&b->odd, ODD_SPLIT_UNIT, ".debug_info", b->unit.header->off);
		*ret_missing = b->unit.dwo_name;
		return 0;
	}
	if (err)
		return err;
	struct unit swap = b->skeleton;
	b->skeleton = b->unit;
	b->unit = swap;
	b->is_split = true;
	return unit_load_split(&b->unit, &b->skeleton, &b->split->dwarf, b->split->header, &b->odd);
}

static int build(struct unit_builder *b, const struct unit_header *header, const char **ret_missing)
{
	int err = unit_load(&b->unit, b->context->dwarf, header, &b->odd);
	if (!err && b->unit.dwo_name) /* its own entries (-fsplit-dwarf-inlining) are a subset */
		err = load_split(b, ret_missing);
	b->has_ada |= !err && language_is_ada(b->unit.language);
	if (!err)
		err = builder_walk(b);
	if (!err && b->unit.is_partial && !b->subprograms.n && !b->folded.n)
		return 0; /* its line table has the files of declarations only */
	b->lines.keeps_all = b->context->match_llvm || b->unit.main->object->format->keeps_rows;
	b->lines.code = b->context->match_llvm || !b->context->text->n ? NULL : b->context->text;
	if (!err)
		err = line_table_read(&b->lines, &b->unit);
	if (!err)
		err = reset_file_map(b);
	for (uint32_t i = 0; i < b->subprograms.n && !err; i++)
		err = build_subprogram(b, i);
	if (!err && b->folded.n)
		err = builder_folded(b);
	return err || b->context->match_llvm ? err : build_orphans(b);
}

static int keep_result(struct unit_builder *b, struct unit_result *ret)
{
	ret->n_records = (uint32_t)b->records.n;
	ret->n_strings = (uint32_t)b->strings.n;
	ret->n_files = (uint32_t)b->files.n;
	if (keep_copy(&b->arena, b->records.v, b->records.n, sizeof(*ret->records), &ret->records) ||
	    keep_copy(&b->arena, b->strings.v, b->strings.n, sizeof(*ret->strings), &ret->strings) ||
	    keep_copy(&b->arena, b->files.v, b->files.n, sizeof(*ret->files), &ret->files))
		return -ENOMEM;
	return 0;
}

void builder_unit_of(struct unit_builder *b, const struct unit_header *header, size_t index,
		     struct unit_result *ret)
{
	b->odd.order = index;
	b->subprograms.n = b->inlined_calls.n = b->calls.n = b->folded.n = b->ranges.n = 0;
	b->records.n = b->strings.n = b->files.n = 0;
	b->covered.n = b->bodies.n = b->unit_ranges.n = 0;
	b->has_unit_ranges = false;
	b->n_names = 0;
	b->generation++;
	*ret = (struct unit_result){0};
	b->is_split = false;
	b->unit.budget = (struct budget){0};
	ret->err = build(b, header, &ret->missing);
	b->work += b->unit.budget.done;
	b->input += b->is_split ? b->unit.header->input : 0;
	if (b->unit.budget.exceeded)
		oddity_count(&b->odd, ODD_UNIT_BUDGET, ".debug_info", header->off);
	if (!ret->err)
		ret->err = keep_result(b, ret);
}

void builder_unit(struct unit_builder *b, size_t index, struct unit_result *ret)
{
	invariant(index < b->context->dwarf->n_units);
	builder_unit_of(b, &b->context->dwarf->units[index], index, ret);
}
