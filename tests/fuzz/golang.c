/*
 * Go's function table in an ELF file. Checked is what writing relies on: rows, inlined calls and their ranges
 * lie in the function, in order, and nested.
 */
#include "convert/golang/golang.h"

#include "convert/object/object_open.h"
#include "gsym/base/invariant.h"
#include "tests/fuzz/promise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inlines(const struct func_record *r)
{
	uint32_t depth = 0;
	for (uint32_t i = 0; i < r->n_inlines; i++) {
		const struct gsym_inline *call = &r->inlines[i];
		expect(call->depth >= 1 && call->depth <= depth + 1 && call->n_ranges);
		expect(call->first_range + call->n_ranges <= r->n_ranges);
		depth = call->depth;
		uint32_t reach = 0;
		for (uint32_t k = call->first_range; k < call->first_range + call->n_ranges; k++) {
			expect(r->ranges[k].size && (k == call->first_range || r->ranges[k].off > reach));
			reach = r->ranges[k].off + r->ranges[k].size;
		}
	}
}

static void check_record(const struct func_record *r, const struct pool *pool)
{
	expect(r->start < r->end && r->name && r->name < pool->strings.n);
	for (uint32_t i = 0; i < r->n_rows; i++)
		expect(r->rows[i].off < r->end - r->start && r->rows[i].file < pool->files.n &&
		       (!i || r->rows[i - 1].off < r->rows[i].off));
	check_inlines(r);
}

static void read_table(struct object_file *object)
{
	struct pool pool;
	struct arena arena = {0};
	struct warnings odd = {0};
	record_vec records = {0};
	struct golang_job job = {.object = object, .pool = &pool, .arena = &arena, .warnings = &odd};
	if (pool_init(&pool))
		return;
	if (!golang_add_records(&job, &records))
		for (size_t i = 0; i < records.n; i++)
			check_record(&records.v[i], &pool);
	vec_free(&records);
	arena_free(&arena);
	pool_deinit(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct object_file *object;
	if (object_open_memory(data, size, "input", &object, NULL))
		return 0;
	read_table(object);
	object_close(object);
	return 0;
}
