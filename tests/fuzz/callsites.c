/*
 * A list of call sites as YAML or JSON, and what becomes of it on the records of two functions, one of which
 * was merged with a third. Refusals have words; what is accepted is whole.
 */
#include "convert/finish/callsites.h"
#include "tests/fuzz/expect.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_file(const struct callsites_file *file)
{
	for (size_t i = 0; i < file->functions.n; i++) {
		const struct listed_function *f = &file->functions.v[i];
		expect(f->name.size && strlen(f->name.text) == f->name.size && f->line && f->column);
		expect(f->first_site <= file->sites.n && f->n_sites <= file->sites.n - f->first_site);
	}
	for (size_t i = 0; i < file->sites.n; i++) {
		const struct listed_site *s = &file->sites.v[i];
		expect(s->first_pattern <= file->patterns.n &&
		       s->n_patterns <= file->patterns.n - s->first_pattern);
		expect(!(s->flags & ~(GSYM_CALLSITE_INTERNAL | GSYM_CALLSITE_EXTERNAL)));
	}
}

static void check_record(const struct func_record *r, const struct pool *pool)
{
	uint32_t patterns = 0;
	for (uint32_t i = 0; i < r->n_callsites; i++) {
		expect(r->callsites[i].first_pattern == patterns);
		patterns += r->callsites[i].n_patterns;
	}
	expect(patterns == r->n_patterns);
	for (uint32_t i = 0; i < patterns; i++)
		expect(r->patterns[i] < pool->strings.n);
}

static uint32_t add_name(struct pool *pool, const char *text)
{
	struct pool_string s = pool_string_of(text, strlen(text));
	uint32_t string;
	expect(!pool_add_string(pool, &s, &string));
	return string;
}

static void apply(const struct callsites_file *file, bool append)
{
	struct pool pool;
	struct arena arena = {0};
	struct listed_place *places = NULL;
	struct gsym_diag diag = {""};
	record_vec records = {0};
	expect(!pool_init(&pool));
	uint64_t pattern = add_name(&pool, "callee");
	struct gsym_callsite told = {.return_off = 5, .n_patterns = 1};
	struct func_record merged = {.start = 16, .end = 55, .name = add_name(&pool, "folded")};
	struct func_record work = {.start = 16,
				   .end = 55,
				   .name = add_name(&pool, "work"),
				   .callsites = &told,
				   .n_callsites = 1,
				   .patterns = &pattern,
				   .n_patterns = 1,
				   .merged = &merged,
				   .n_merged = 1};
	struct func_record other = {.start = 64, .end = 64, .name = add_name(&pool, "other")};
	expect(!vec_push(&records, work) && !vec_push(&records, other));
	expect(!callsites_locate(file, &records, &pool, &places));
	int err = callsites_apply(file, places, &records, &pool, append, &arena, &diag);
	expect(!err || (err == -EINVAL && diag.text[0]));
	for (size_t i = 0; i < records.n; i++)
		check_record(&records.v[i], &pool);
	check_record(&merged, &pool);
	free(places);
	vec_free(&records);
	arena_free(&arena);
	pool_deinit(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct callsites_file *file;
	struct gsym_diag diag = {""};
	int err = callsites_file_parse(data, size, "input", &file, &diag);
	expect(!err || diag.text[0]);
	if (err)
		return 0;
	check_file(file);
	apply(file, false);
	apply(file, true);
	callsites_file_free(file);
	return 0;
}
