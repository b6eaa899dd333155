/*
 * build_lines.c - the rows of one function out of its unit's line table.
 *
 * Sequences are sorted by start address, with the running maximum of their ends (reach), so that those around
 * an address are found by binary search and a short scan back. A function normally lies in one sequence. If
 * several cover its first byte (identical code folding), the rows of one of them are used: the one that
 * begins at the function's declaration, else the first of the table. Rows of different sequences are never
 * mixed.
 */
#include "convert/build/unit_builder.h"
#include "convert/object/source_format.h"
#include "gsym/base/search.h"

enum { CANDIDATES_MAX = 64 }; /* sequences considered for one function: folding rarely joins more */

/* ---- Rows ---- */

static bool keeps_rows(const struct unit_builder *b)
{
	return b->unit.main->object->format->keeps_rows && !b->context->match_llvm;
}

static bool same_line(const struct gsym_row *x, const struct gsym_row *y)
{
	return x->file == y->file && x->line == y->line;
}

/* Whether rows [.., n) end with two of one address. */
static bool is_pair(const struct gsym_row *rows, size_t n)
{
	return n > 1 && rows[n - 1].off == rows[n - 2].off;
}

/* The rows at the last address are complete: drops redundant ones. */
static void end_address(struct unit_builder *b)
{
	const struct gsym_row *rows = b->rows.v;
	size_t n = b->rows.n;
	if (is_pair(rows, n)) {
		if (!same_line(&rows[n - 2], &rows[n - 1]))
			return;
		n--;
	}
	if (n > 1 && same_line(&rows[n - 2], &rows[n - 1]) && !is_pair(rows, n - 1))
		n--;
	b->rows.n = n;
}

/*
 * For Apple's platforms two rows of an address are kept, the last and the first that has a line, which the
 * tools of that platform show. The first is kept even if it equals the row before it, and so is a row after
 * such a pair: it ends the range of the first.
 */
static int push_first_and_last(struct unit_builder *b, uint32_t off, uint32_t file, uint32_t line)
{
	struct gsym_row *last = b->rows.n ? &b->rows.v[b->rows.n - 1] : NULL, row = {off, file, line};
	if (last && last->off == off) {
		if (!is_pair(b->rows.v, b->rows.n) && last->line)
			return vec_push(&b->rows, row);
		*last = row;
		return 0;
	}
	end_address(b);
	return vec_push(&b->rows, row);
}

/*
 * Only the last of several rows at one address is visible to lookups, and a row equal to the one before it is
 * redundant; neither is kept.
 */
static inline int push_row(struct unit_builder *b, uint32_t off, uint32_t file, uint32_t line)
{
	struct gsym_row *last = b->rows.n ? &b->rows.v[b->rows.n - 1] : NULL;
	if (last && last->file == file && last->line == line)
		return 0;
	if (!last || last->off != off || b->context->match_llvm)
		return vec_push(&b->rows, (struct gsym_row){off, file, line});
	*last = (struct gsym_row){off, file, line};
	if (b->rows.n > 1 && last[-1].file == file && last[-1].line == line)
		b->rows.n--;
	return 0;
}

/* Fast path of builder_file() for files that were used before. */
static inline int row_file(struct unit_builder *b, uint32_t index, uint32_t *ret)
{
	uint32_t known = index < b->file_map.n ? b->file_map.v[index] : 0;
	if (!known || known == FILE_REFUSED)
		return builder_file(b, index, ret);
	*ret = known;
	return 0;
}

/* The first of rows [first, end) after @addr. */
static uint32_t row_behind(const struct line_row *rows, uint32_t first, uint32_t end, uint64_t addr)
{
	return (uint32_t)PARTITION_POINT(first, end, mid, rows[mid].addr <= addr);
}

/* Rows of one sequence that cover an address in [lo, hi), in a function that begins at @start. */
static int take_rows(struct unit_builder *b, const struct line_seq *seq, uint64_t start, uint64_t lo,
		     uint64_t hi)
{
	const struct line_row *rows = b->lines.rows.v;
	bool apple = keeps_rows(b);
	uint32_t first = row_behind(rows, seq->first, seq->end, lo);
	if (first > seq->first)
		first--;
	if (apple)
		first = rows[first].addr ? row_behind(rows, seq->first, first, rows[first].addr - 1)
					 : seq->first;
	if (rows[first].addr < lo)
		warning_count(&b->warnings, WARN_LINE_BEFORE_FUNCTION, NULL, lo);
	uint32_t end = row_behind(rows, first, seq->end, hi - 1);
	uint64_t n = end > first ? end - first : 0, left = b->unit.budget.left[ACCOUNT_ROWS].work;
	if (!budget_work(&b->unit.budget, ACCOUNT_ROWS, n))
		end = first + (uint32_t)left;
	for (; first < end; first++) {
		uint32_t file, off = (uint32_t)((rows[first].addr > lo ? rows[first].addr : lo) - start);
		int err = row_file(b, rows[first].file, &file);
		if (err == -ENOENT) {
			warning_count(&b->warnings, WARN_LINE_FILE, NULL, rows[first].addr);
			continue;
		}
		if (!err)
			err = apple ? push_first_and_last(b, off, file, rows[first].line)
				    : push_row(b, off, file, rows[first].line);
		if (err)
			return err;
	}
	if (apple)
		end_address(b);
	return 0;
}

/* ---- Sequences ---- */

/* Lines from the declaration of the function at @die_off to the first row of @seq; UINT64_MAX: that row is in
 * another file or before it. */
static uint64_t declaration_distance(struct unit_builder *b, const struct line_seq *seq, uint64_t die_off)
{
	const struct line_row *row = &b->lines.rows.v[seq->first];
	uint64_t file, line;
	bool near = names_declaration(b->names, &b->unit, die_off, &file, &line) && row->file == file &&
		    row->line >= line;
	return near ? row->line - line : UINT64_MAX;
}

/* The sequence whose program begins at @off of .debug_line, or NULL. */
static const struct line_seq *named_sequence(const struct unit_builder *b, uint64_t off)
{
	for (size_t i = 0; i < b->lines.seqs.n; i++)
		if (b->lines.seqs.v[i].off == off)
			return &b->lines.seqs.v[i];
	return NULL;
}

/*
 * The sequence to use for @lo, or NULL when none contains it. @upto: sequences that begin at or before @lo.
 * Of several: the one the entry names (DW_AT_LLVM_stmt_sequence), else the one that begins at the closest
 * line after its declaration, else the first of the table.
 */
static const struct line_seq *choose_sequence(struct unit_builder *b, size_t upto, uint64_t lo,
					      const struct subprogram *subprogram)
{
	const struct line_seq *seqs = b->lines.seqs.v, *best = NULL;
	uint64_t best_distance = UINT64_MAX;
	bool several = false;
	for (size_t i = upto, left = CANDIDATES_MAX; i-- > 0 && seqs[i].reach > lo && left; left--) {
		(void)budget_work(&b->unit.budget, ACCOUNT_ROWS, 1);
		if (seqs[i].hi <= lo)
			continue;
		if (!best && (!i || seqs[i - 1].reach <= lo))
			return &seqs[i]; /* the only one: the common case */
		if (subprogram && seqs[i].off == subprogram->sequence)
			return &seqs[i];
		uint64_t distance =
			subprogram ? declaration_distance(b, &seqs[i], subprogram->die_off) : UINT64_MAX;
		several |= best != NULL;
		if (best &&
		    (distance != best_distance ? distance > best_distance : seqs[i].first > best->first))
			continue;
		best = &seqs[i];
		best_distance = distance;
	}
	if (several)
		warning_count(&b->warnings, WARN_LINE_SEQUENCES, NULL, lo);
	return best;
}

/* How many sequences begin at or before @addr. */
static size_t sequences_upto(const struct line_table *lines, uint64_t addr)
{
	return PARTITION_POINT(0, lines->seqs.n, mid, lines->seqs.v[mid].lo <= addr);
}

/* A function without rows gets the line of its declaration, but only its first range. */
static int declaration_row(struct unit_builder *b, uint64_t lo, const struct subprogram *subprogram)
{
	uint32_t number;
	uint64_t file, line;
	if (lo != b->ranges.v[subprogram->first_range].lo && !b->context->match_llvm)
		return 0;
	if (!names_declaration(b->names, &b->unit, subprogram->die_off, &file, &line))
		return 0;
	int err = builder_file(b, file, &number);
	if (err == -ENOENT) {
		warning_count(&b->warnings, WARN_DECL_FILE, ".debug_info", subprogram->die_off);
		return 0;
	}
	b->declared = true;
	return err ? err : push_row(b, 0, number, (uint32_t)line);
}

/*
 * On Apple's platforms, outlined functions have neither rows nor a declaration; they lie after the last row
 * of their unit, and debuggers show the line of its end_sequence.
 */
static int end_row(struct unit_builder *b, size_t upto, uint64_t lo)
{
	const struct line_seq *seqs = b->lines.seqs.v, *last = NULL;
	uint32_t file;
	for (size_t i = upto, left = CANDIDATES_MAX; i-- > 0 && left; left--)
		if (seqs[i].hi <= lo && (!last || seqs[i].hi > last->hi))
			last = &seqs[i];
	if (!last)
		return 0;
	int err = row_file(b, last->end_file, &file);
	return err ? (err == -ENOENT ? 0 : err) : push_row(b, 0, file, last->end_line);
}

/* Whether the entry names another sequence for its first range than the one used. */
static bool is_misnamed(const struct unit_builder *b, const struct subprogram *subprogram, uint64_t lo,
			const struct line_seq *seq)
{
	return subprogram && subprogram->sequence != NO_SEQUENCE &&
	       b->ranges.v[subprogram->first_range].lo == lo && (!seq || seq->off != subprogram->sequence);
}

/* Reads the code ranges of the unit's own entry, unless that is done. A split unit's are its skeleton's. */
static int read_unit_ranges(struct unit_builder *b)
{
	struct unit *unit = b->is_split ? &b->skeleton : &b->unit;
	struct die die;
	if (b->has_unit_ranges)
		return 0;
	b->has_unit_ranges = true;
	int err = die_at(unit, unit->header->off + unit->header->die_off, &die);
	if (!err)
		err = die_ranges(unit, &die, ACCOUNT_ROWS, &b->unit_ranges);
	ranges_normalize(&b->unit_ranges);
	return err == -ENOMEM ? err : 0;
}

/*
 * Whether lines of the unit hold from @lo on, which is before the entry at @entry. Where the unit's ranges
 * leave out what is between its functions, the last row of one does not reach the next.
 */
static bool is_line_of_unit(const struct unit_builder *b, uint64_t lo, uint64_t entry)
{
	const struct range *range = ranges_find(&b->unit_ranges, entry);
	return !range || range->lo <= lo;
}

int builder_rows(struct unit_builder *b, struct range extent, uint64_t entry,
		 const struct subprogram *subprogram)
{
	b->rows.n = 0;
	b->declared = false;
	size_t upto = sequences_upto(&b->lines, entry), next = upto;
	const struct line_seq *seq = choose_sequence(b, next, entry, subprogram);
	uint64_t at = entry, from = extent.lo;
	if (from < entry) {
		int err = read_unit_ranges(b);
		if (err)
			return err;
		from = is_line_of_unit(b, from, entry) ? from : entry;
	}
	if (is_misnamed(b, subprogram, entry, seq))
		warning_count(&b->warnings, WARN_LINE_SEQUENCE, ".debug_info", subprogram->die_off);
	if (seq) {
		int err = take_rows(b, seq, extent.lo, from, extent.hi);
		if (err)
			return err;
		at = seq->hi;
	}
	bool gap_allowed = seq || !b->context->match_llvm;
	for (; gap_allowed && next < b->lines.seqs.n && b->lines.seqs.v[next].lo < extent.hi; next++) {
		seq = &b->lines.seqs.v[next];
		if (!budget_work(&b->unit.budget, ACCOUNT_ROWS, 1))
			break;
		if (seq->lo < at)
			continue;
		int err = take_rows(b, seq, extent.lo, from, extent.hi);
		if (err)
			return err;
		at = seq->hi;
	}
	/* What precedes the entry has its line if it has none of its own. */
	if (b->rows.n && b->rows.v[0].off == entry - extent.lo)
		b->rows.v[0].off = 0;
	if (b->rows.n || !subprogram)
		return 0;
	int err = declaration_row(b, entry, subprogram);
	return err || b->rows.n || !keeps_rows(b) ? err : end_row(b, upto, entry);
}

/* ---- Functions that identical code folding left without code of their own ---- */

/*
 * On ELF the linker redirects references to a folded function to the one it keeps, but gives the entry in
 * .debug_info no address. The rows are kept: their sequence has the addresses of the other function. It is
 * found by DW_AT_LLVM_stmt_sequence, or as the one that begins at the closest line after the declaration.
 */

/* Sequences at address 0 belong to dropped code. */
static bool is_placed(const struct unit_builder *b, const struct line_seq *seq, uint64_t size)
{
	const range_vec *text = b->context->text;
	return seq->lo && seq->hi - seq->lo >= size && (!text->n || ranges_find(text, seq->lo));
}

enum { SEQUENCES_MAX = 4096 }; /* searched for one function, which bounds the time */

static const struct line_seq *find_by_declaration(struct unit_builder *b, const struct folded_subprogram *f)
{
	const struct line_seq *best = NULL;
	uint64_t best_distance = UINT64_MAX;
	for (size_t i = 0;
	     i < b->lines.seqs.n && i < SEQUENCES_MAX && budget_work(&b->unit.budget, ACCOUNT_ROWS, 1); i++) {
		const struct line_seq *seq = &b->lines.seqs.v[i];
		uint64_t distance =
			is_placed(b, seq, f->size) ? declaration_distance(b, seq, f->die_off) : UINT64_MAX;
		if (distance < best_distance) {
			best = seq;
			best_distance = distance;
		}
	}
	return best;
}

static int build_folded(struct unit_builder *b, const struct folded_subprogram *f)
{
	struct name_slot name;
	bool by_sequence = f->sequence != NO_SEQUENCE;
	const struct line_seq *seq = by_sequence ? named_sequence(b, f->sequence) : find_by_declaration(b, f);
	if (!seq || !is_placed(b, seq, f->size) || f->size > UINT32_MAX)
		return 0;
	int err = builder_name(b, f->name_key, &name);
	b->rows.n = 0;
	if (!err)
		err = take_rows(b, seq, seq->lo, seq->lo, seq->lo + f->size);
	if (err || name.string == NO_STRING)
		return err;
	struct func_record r = {
		.start = seq->lo,
		.end = seq->lo + f->size,
		.name = name.string,
		.bare = name.bare,
		.linkage = name.linkage,
		.kind = RECORD_FOLDED,
		.by_sequence = by_sequence,
	};
	b->inlines.n = b->inline_ranges.n = b->callsites.n = b->patterns.n = 0;
	return builder_keep_record(b, &r);
}

int builder_folded(struct unit_builder *b)
{
	int err = 0;
	for (size_t i = 0; i < b->folded.n && !err; i++)
		err = build_folded(b, &b->folded.v[i]);
	return err;
}
