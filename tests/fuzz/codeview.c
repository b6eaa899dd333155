/*
 * The modules of a PDB file. Checked is what merging and writing rely on: numbers of strings and files, rows
 * and inlined calls with their ranges lie in the function, in order, and nested. Then the whole converter.
 */
#include "convert/codeview/codeview.h"

#include "convert/object/object_open.h"
#include "convert/object/pdb/pdb.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/whole.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inlines(const struct func_record *r, const struct unit_result *unit)
{
	uint32_t depth = 0;
	for (uint32_t i = 0; i < r->n_inlines; i++) {
		const struct gsym_inline *call = &r->inlines[i];
		expect(call->depth >= 1 && call->depth <= depth + 1 && call->n_ranges);
		expect(call->name < unit->n_strings && call->call_file <= unit->n_files);
		expect(call->first_range + call->n_ranges <= r->n_ranges);
		depth = call->depth;
		uint32_t reach = 0;
		for (uint32_t k = call->first_range; k < call->first_range + call->n_ranges; k++) {
			expect(r->ranges[k].size && (k == call->first_range || r->ranges[k].off > reach));
			reach = r->ranges[k].off + r->ranges[k].size;
			expect(reach <= r->end - r->start);
		}
	}
}

static void check_record(const struct func_record *r, const struct unit_result *unit)
{
	expect(r->start < r->end && (r->name == NO_STRING || r->name < unit->n_strings));
	for (uint32_t i = 0; i < r->n_rows; i++)
		expect(r->rows[i].off < r->end - r->start && r->rows[i].file <= unit->n_files &&
		       (!i || r->rows[i - 1].off < r->rows[i].off));
	check_inlines(r, unit);
}

static void check_results(const struct codeview *cv, record_vec *all)
{
	size_t n;
	const struct unit_result *results = codeview_results(cv, &n);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; !results[i].err && k < results[i].n_records; k++) {
			check_record(&results[i].records[k], &results[i]);
			expect(!vec_push(all, results[i].records[k]));
		}
	struct pool pool;
	expect(!pool_init(&pool) && !codeview_settle(cv, &pool, all, 0));
	pool_deinit(&pool);
}

static void read_modules(const struct object_file *object)
{
	record_vec none = {0}, all = {0};
	symbol_vec symbols = {0};
	struct codeview *cv;
	const struct codeview_job job = {
		.pdb = object, .text = &object->text, .known = &none, .symbols = &symbols, .threads = 1};
	if (codeview_read(&job, &cv))
		return;
	check_results(cv, &all);
	codeview_free(cv);
	vec_free(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct object_file *object;
	if (!object_open_memory(data, size, "input", &object, NULL)) {
		if (object->format == &pdb_format && !pdb_load(object, NULL))
			read_modules(object);
		object_close(object);
	}
	convert_whole(data, size);
	return 0;
}
