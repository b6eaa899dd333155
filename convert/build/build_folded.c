/*
 * build_folded.c - functions that identical code folding left without code of their own.
 *
 * On ELF the linker redirects references to a folded function to the one it keeps, but gives the entry in
 * .debug_info no address. The rows are kept: their sequence has the addresses of the other function. It is
 * found by DW_AT_LLVM_stmt_sequence, or as the one that begins at the closest line after the declaration.
 */
#include "convert/build/unit_builder.h"

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
		uint64_t distance = is_placed(b, seq, f->size)
					    ? builder_declaration_distance(b, seq, f->die_off)
					    : UINT64_MAX;
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
	const struct line_seq *seq =
		by_sequence ? builder_find_sequence(b, f->sequence) : find_by_declaration(b, f);
	if (!seq || !is_placed(b, seq, f->size) || f->size > UINT32_MAX)
		return 0;
	int err = builder_name(b, f->name_key, &name);
	if (!err)
		err = builder_sequence_rows(b, seq, seq->lo, seq->lo + f->size);
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
