/*
 * From names to functions: against a search of all, with names that many share, folded functions, and damage.
 */
#include "tests/unit/gsym/sample.h"

#include "gsym/read/name_index.h"
#include "tests/lib/unit.h"

#include <stdio.h>

enum {
	FUNCTIONS = 3000,
	SHARED = 7, /* each seventh function is called "shared" */
};

static void name_of(char *ret, size_t size, unsigned i)
{
	if (i % SHARED)
		snprintf(ret, size, "function_%u", i / 2); /* most names twice */
	else
		snprintf(ret, size, "shared");
}

static struct gsym_reader *many(struct sample_kind kind, void **ret_data)
{
	struct sample s;
	char name[32];
	sample_init(&s, kind, 0x1000);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		name_of(name, sizeof(name), i);
		sample_func(&s, i * 16, 8 + i % 8, name, 0);
	}
	return sample_open(&s, ret_data);
}

/* Every function called @name, by a search of all. */
static void assert_finds(const struct gsym_reader *r, const char *name)
{
	struct name_search search;
	struct name_hit hit;
	char other[32];
	assert_int_equal(name_search_begin(&search, r, name, strlen(name)), 0);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		name_of(other, sizeof(other), i);
		if (strcmp(name, other) != 0)
			continue;
		assert_true(name_search_next(&search, &hit));
		assert_int_equal(hit.index, i);
		assert_int_equal(hit.which, 0);
		assert_int_equal(hit.size, 8 + i % 8);
	}
	assert_false(name_search_next(&search, &hit));
}

TEST(finds_all_in_order)
{
	for (size_t k = 0; k < 4; k++) {
		void *data;
		char name[32];
		struct gsym_reader *r = many(sample_kinds[k], &data);
		for (unsigned i = 0; i < FUNCTIONS; i += 13) {
			name_of(name, sizeof(name), i);
			assert_finds(r, name);
		}
		assert_finds(r, "shared");
		assert_finds(r, "share");
		assert_finds(r, "shared_");
		assert_finds(r, "");
		gsym_reader_close(r);
		free(data);
	}
}

static unsigned count(const struct gsym_reader *r, const char *name, size_t size, struct name_hit *ret_last)
{
	struct name_search search;
	unsigned n = 0;
	assert_int_equal(name_search_begin(&search, r, name, size), 0);
	while (name_search_next(&search, ret_last))
		n++;
	return n;
}

TEST(name_ends_where_it_is_said_to_end)
{
	struct name_hit hit;
	void *data;
	struct gsym_reader *r = many(sample_kinds[0], &data);
	assert_int_equal(count(r, "function_11+0x12", 11, &hit), 2);
	assert_int_equal(count(r, "function_11\0", 12, &hit), 0);
	gsym_reader_close(r);
	free(data);
}

/* folded(), other() and twice other() again, folded onto holder(). */
static struct gsym_reader *folded(void **ret_data)
{
	struct sample s;
	sample_init(&s, sample_kinds[0], 0x1000);
	sample_func(&s, 0, 16, "other", 0);
	struct gsym_func merged[] = {
		{.start = 0x1010, .size = 16, .name = sample_string(&s, "folded")},
		{.start = 0x1010, .size = 16, .name = sample_string(&s, "other")},
		{.start = 0x1010, .size = 16, .name = sample_string(&s, "folded")},
		{.start = 0x1010, .size = 16, .name = sample_string(&s, "other")},
	};
	struct gsym_func holder = {
		.start = 0x1010,
		.size = 16,
		.name = sample_string(&s, "holder"),
		.merged = merged,
		.n_merged = ARRAY_SIZE(merged),
	};
	assert_int_equal(gsym_writer_add(s.writer, &holder, NULL), 0);
	return sample_open(&s, ret_data);
}

TEST(folded_functions_are_found)
{
	struct gsym_answer answer = {0};
	struct name_hit hit;
	void *data;
	struct gsym_reader *r = folded(&data);
	assert_int_equal(count(r, "holder", 6, &hit), 1);
	assert_int_equal(hit.index, 1);
	assert_int_equal(hit.which, 0);
	assert_int_equal(count(r, "folded", 6, &hit), 1); /* a record once, though it has the name twice */
	assert_int_equal(hit.index, 1);
	assert_int_equal(hit.which, 1);
	assert_int_equal(hit.size, 16);
	assert_int_equal(count(r, "other", 5, &hit), 2);
	assert_int_equal(hit.index, 1);
	assert_int_equal(hit.which, 2);
	assert_int_equal(gsym_lookup_merged(r, 0x1010, hit.which, &answer, NULL), 0);
	assert_string_equal(answer.frames[0].name, "other");
	gsym_answer_deinit(&answer);
	gsym_reader_close(r);
	free(data);
}

/* A file damaged anywhere is searched without reading past it (the sanitizers look), and what is left is
 * found. */
TEST(damaged_files)
{
	struct sample s;
	void *data;
	size_t size;
	sample_init(&s, sample_kinds[0], 0);
	for (unsigned i = 0; i < 20; i++)
		sample_func(&s, i * 16, 8, i % 2 ? "odd" : "even", 0);
	sample_finish(&s, &data, &size);
	uint8_t *bytes = malloc(size);
	for (size_t i = 0; i < size; i++) {
		struct gsym_reader *r;
		struct name_hit hit;
		memcpy(bytes, data, size);
		bytes[i] ^= 0xff;
		if (gsym_reader_open_memory(bytes, size, &r, NULL))
			continue;
		assert_true(count(r, "odd", 3, &hit) <= 20);
		gsym_reader_close(r);
	}
	free(bytes);
	free(data);
}

/* Every function's record is one with thousands of merged functions: names are not taken from it again and
 * again. */
TEST(shared_record)
{
	enum { MERGED = 4000, STARTS = 4000 };
	struct sample s;
	void *data;
	size_t size;
	struct gsym_reader *r;
	struct name_hit hit;
	static struct gsym_func merged[MERGED];
	sample_init(&s, sample_kinds[0], 0);
	for (unsigned i = 0; i < STARTS; i++)
		sample_func(&s, i, 1, "f", 0);
	for (unsigned i = 0; i < MERGED; i++)
		merged[i] = (struct gsym_func){.start = STARTS, .size = 1, .name = sample_string(&s, "m")};
	struct gsym_func holder = {.start = STARTS,
				   .size = 1,
				   .name = sample_string(&s, "h"),
				   .merged = merged,
				   .n_merged = MERGED};
	assert_int_equal(gsym_writer_add(s.writer, &holder, NULL), 0);
	sample_finish(&s, &data, &size);
	assert_int_equal(gsym_reader_open_memory(data, size, &r, NULL), 0);
	uint8_t *infos = (uint8_t *)data + (r->info_offs - r->bytes.data);
	for (unsigned i = 0; i < STARTS; i++)
		memcpy(infos + 4 * i, infos + 4 * STARTS, 4);
	assert_int_equal(count(r, "h", 1, &hit), STARTS + 1);
	assert_in_range(count(r, "m", 1, &hit), 1, STARTS);
	gsym_reader_close(r);
	free(data);
}
