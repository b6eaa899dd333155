/*
 * The debug sections of an object file, stage by stage: entries, line programs, names. Checked are the
 * promises that the stages make to each other.
 */
#include "convert/build/builder.h"
#include "convert/build/unit_builder.h"
#include "convert/object/object_open.h"
#include "gsym/codec/format.h"
#include "tests/fuzz/promise.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lines(const struct line_table *lines)
{
	for (size_t i = 0; i < lines->seqs.n; i++) {
		const struct line_seq *seq = &lines->seqs.v[i];
		expect(seq->first < seq->end && seq->end <= lines->rows.n && seq->lo < seq->hi &&
		       seq->hi <= seq->reach);
		expect(!i || seq[-1].lo <= seq->lo);
		for (uint32_t r = seq->first + 1; r < seq->end; r++)
			expect(lines->rows.v[r - 1].addr <= lines->rows.v[r].addr);
	}
}

static void check_inlined_calls(const struct unit_builder *b)
{
	for (size_t i = 0; i < b->inlined_calls.n; i++) {
		const struct inlined_call *call = &b->inlined_calls.v[i];
		expect(call->subprogram < b->subprograms.n && call->depth >= 1 &&
		       call->depth <= INLINE_DEPTH_MAX && call->n_ranges);
		for (uint32_t r = 1; r < call->n_ranges; r++)
			expect(b->ranges.v[call->first_range + r - 1].hi <
			       b->ranges.v[call->first_range + r].lo);
	}
}

static void check_records(const struct unit_result *result)
{
	for (uint32_t i = 0; i < result->n_records; i++) {
		const struct func_record *r = &result->records[i];
		expect(r->start < r->end && (r->name == NO_STRING || r->name < result->n_strings));
		for (uint32_t k = 0; k < r->n_rows; k++)
			expect(r->rows[k].off < r->end - r->start && r->rows[k].file <= result->n_files);
	}
}

static void read_units(const struct dwarf *dwarf)
{
	symbol_vec none = {0};
	struct build_context context = {.dwarf = dwarf, .text = &dwarf->object->text, .symbols = &none};
	struct unit_builder *b = builder_new(&context);
	struct unit_result result;
	for (size_t i = 0; b && i < dwarf->n_units; i++) {
		builder_unit(b, i, &result);
		check_lines(&b->lines);
		check_inlined_calls(b);
		if (!result.err)
			check_records(&result);
	}
	builder_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct object_file *object;
	struct dwarf dwarf;
	struct warnings odd = {0};
	if (object_open_memory(data, size, "input", &object, NULL))
		return 0;
	if (!dwarf_open(&dwarf, object, false, 1, &odd))
		read_units(&dwarf);
	dwarf_close(&dwarf);
	object_close(object);
	return 0;
}
