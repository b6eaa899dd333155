/*
 * What a batch caches is found again: names, paths, functions that are asked again and again. Answers without
 * a cache are the same and only slower, so that no comparison of answers notices when it is not used.
 */
#include "tests/unit/gsym/sample.h"

#include "gsym/base/vec.h"
#include "gsym/render/batch/batch_cache.h"
#include "gsym/render/batch/flat_function.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BASE = 0x1000,
	SIZE = 0x20,       /* of a function, one after the other */
	FUNCTIONS = 3000,  /* more than the smallest table has slots */
	FILES = 1500,      /* likewise */
	ENOUGH = 64,       /* queries for which there is a cache */
	MANY_ROWS = 4000,  /* of a function that is not cut for one query */
	LARGE = FUNCTIONS, /* its number: it is the last one */
	PASSES = 3,        /* over the record of a function before it is cut for good */
};

static const struct render_options text = {.format = RENDER_TEXT, .demangle = DEMANGLE_OFF};

struct cached {
	struct batch_cache cache;
	struct gsym_reader *reader;
	void *data;
};

/* With a row each @apart bytes. */
static void add_busy(struct sample *s, uint32_t index, const char *name, size_t n, uint32_t apart)
{
	struct gsym_row *rows = calloc(n, sizeof(*rows));
	struct gsym_func func = {.start = BASE + (uint64_t)index * SIZE,
				 .size = (uint32_t)n * apart,
				 .name = sample_string(s, name),
				 .rows = rows,
				 .n_rows = n};
	const uint32_t file = sample_file(s, "/src", "a.c");
	for (uint32_t i = 0; i < n; i++)
		rows[i] = (struct gsym_row){apart * i, file, 1 + i * 77 % 1000};
	assert_int_equal(gsym_writer_add(s->writer, &func, NULL), 0);
	free(rows);
}

/* Those of which one address is looked up sooner than all of them are cut. */
static const uint32_t busy[] = {0, 7, 1023, 1024, FUNCTIONS - 1};

static bool is_busy(uint32_t index)
{
	for (size_t i = 0; i < ARRAY_SIZE(busy); i++)
		if (busy[i] == index)
			return true;
	return false;
}

static int set_up(void **state)
{
	struct cached *c = calloc(1, sizeof(*c));
	struct sample s;
	char name[32];
	sample_init(&s, sample_kinds[0], BASE);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "function%u", i);
		if (is_busy(i))
			add_busy(&s, i, name, SIZE, 1);
		else
			sample_func(&s, i * SIZE, SIZE, name, 1 + i);
	}
	for (uint32_t i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "file%u.c", i);
		sample_file(&s, "/src", name);
	}
	add_busy(&s, LARGE, "large", MANY_ROWS, 4);
	c->reader = sample_open(&s, &c->data);
	c->cache.reader = c->reader;
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	struct cached *c = *state;
	batch_cache_deinit(&c->cache);
	gsym_reader_close(c->reader);
	free(c->data);
	free(c);
	return 0;
}

static void begin(struct cached *c)
{
	assert_true(batch_cache_begin(&c->cache, &text, ENOUGH));
}

static struct batch_query query(uint64_t addr)
{
	return (struct batch_query){.given = addr, .addr = addr};
}

/* The name, as it is stored, of function @index. */
static uint32_t name_of(const struct cached *c, uint32_t index)
{
	struct function_info record;
	assert_int_equal(reader_parse_record(c->reader, index, &record, NULL), 0);
	return (uint32_t)record.name;
}

static void expect_text(const struct cached *c, arena_ref ref, const char *expected)
{
	const struct cached_text *found = cached_text_at(&c->cache, ref);
	struct span shown = text_shown(found);
	assert_false(found->too_long);
	assert_int_equal(shown.size, strlen(expected));
	assert_memory_equal(shown.data, expected, shown.size);
}

/* It costs more than it saves for a few queries; once there, it serves any number. */
TEST_OF(few_queries, struct cached, c)
{
	assert_false(batch_cache_begin(&c->cache, &text, 31));
	assert_false(c->cache.is_set_up);
	assert_int_equal(batch_cache_bytes(&c->cache), 0);
	assert_true(batch_cache_begin(&c->cache, &text, 32));
	assert_true(batch_cache_begin(&c->cache, &text, 1));
}

TEST_OF(names_again, struct cached, c)
{
	arena_ref *refs = calloc(FUNCTIONS, sizeof(*refs));
	begin(c);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		assert_int_not_equal(refs[i] = batch_cache_name(&c->cache, &text, name_of(c, i)), 0);
	assert_int_equal(c->cache.names.n, FUNCTIONS);
	size_t used = c->cache.parts[PART_TEXTS].used;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char expected[32];
		snprintf(expected, sizeof(expected), "function%u", i);
		assert_int_equal(batch_cache_name(&c->cache, &text, name_of(c, i)), refs[i]);
		expect_text(c, refs[i], expected);
	}
	assert_int_equal(c->cache.parts[PART_TEXTS].used, used);
	assert_int_equal(c->cache.names.n, FUNCTIONS);
	assert_int_equal(batch_cache_name(&c->cache, &text, UINT32_MAX), 0); /* there is no such string */
	free(refs);
}

TEST_OF(paths_again, struct cached, c)
{
	const uint32_t n = c->reader->info.num_files;
	arena_ref *refs = calloc(n, sizeof(*refs));
	begin(c);
	assert_true(n > FILES);
	for (uint32_t i = 1; i < n; i++) {
		assert_int_equal(batch_cache_find_path(&c->cache, i), 0);
		assert_int_not_equal(refs[i] = batch_cache_path(&c->cache, i), 0);
	}
	size_t used = c->cache.parts[PART_TEXTS].used;
	for (uint32_t i = 1; i < n; i++) {
		const char *dir, *base;
		char expected[64];
		assert_int_equal(gsym_reader_file(c->reader, i, &dir, &base), 0);
		snprintf(expected, sizeof(expected), "%s/%s", dir, base);
		assert_int_equal(batch_cache_find_path(&c->cache, i), refs[i]);
		assert_int_equal(batch_cache_path(&c->cache, i), refs[i]);
		expect_text(c, refs[i], expected);
	}
	assert_int_equal(c->cache.parts[PART_TEXTS].used, used);
	assert_int_equal(batch_cache_path(&c->cache, n), 0);
	free(refs);
}

/* Names of another format are others. */
TEST_OF(another_format, struct cached, c)
{
	struct render_options json = {.format = RENDER_JSON, .demangle = DEMANGLE_OFF},
			      demangled = {.format = RENDER_JSON, .demangle = DEMANGLE_AUTO};
	begin(c);
	batch_cache_name(&c->cache, &text, name_of(c, 1));
	batch_cache_path(&c->cache, 1);
	begin(c);
	assert_int_equal(c->cache.names.n, 1);
	assert_true(batch_cache_begin(&c->cache, &json, ENOUGH));
	assert_int_equal(c->cache.names.n, 0);
	assert_int_equal(batch_cache_find_path(&c->cache, 1), 0);
	batch_cache_name(&c->cache, &json, name_of(c, 1));
	assert_true(batch_cache_begin(&c->cache, &demangled, ENOUGH));
	assert_int_equal(c->cache.names.n, 0);
}

/* ---- One by one ---- */

static struct flat_function *get(struct cached *c, uint32_t index, uint64_t addr, size_t n)
{
	struct batch_query *queries = calloc(n, sizeof(*queries));
	for (size_t i = 0; i < n; i++)
		queries[i] = query(addr);
	struct flat_function *flat = flat_function_get(&c->cache, index, (struct flat_queries){queries, n});
	free(queries);
	return flat;
}

/* The second query has it cut, or many at once. */
TEST_OF(cut_by_queries, struct cached, c)
{
	begin(c);
	for (uint32_t i = 0; i < FUNCTIONS; i += 99) {
		assert_null(get(c, i, BASE + i * SIZE, 1));
		assert_null(flat_function_find(&c->cache, i));
		struct flat_function *flat = get(c, i, BASE + i * SIZE, 1);
		assert_non_null(flat);
		assert_int_equal(flat->index, i);
		assert_int_equal(flat->start, i * SIZE);
		assert_int_equal(flat->size, SIZE);
		assert_true(flat->alone);
		assert_false(flat->exact);
	}
	size_t used = c->cache.parts[PART_FUNCTIONS].used;
	for (uint32_t i = 0; i < FUNCTIONS; i += 99) {
		assert_ptr_equal(get(c, i, BASE + i * SIZE, 1), flat_function_find(&c->cache, i));
		assert_non_null(flat_function_find(&c->cache, i));
	}
	assert_int_equal(c->cache.parts[PART_FUNCTIONS].used, used);
	assert_null(get(c, 1, BASE + SIZE, 63));
	assert_non_null(get(c, 2, BASE + 2 * SIZE, 64));
}

/* The first query, or many, for a large one is looked up. */
TEST_OF(large_functions, struct cached, c)
{
	begin(c);
	assert_null(get(c, LARGE, BASE + FUNCTIONS * SIZE, ENOUGH));
	assert_non_null(get(c, LARGE, BASE + FUNCTIONS * SIZE, 1));
	assert_int_equal(flat_function_find(&c->cache, LARGE)->n, MANY_ROWS);
}

/* Once a part is full it is emptied, and functions are kept again. */
TEST_OF(emptied, struct cached, c)
{
	begin(c);
	assert_non_null(get(c, 2, BASE + 2 * SIZE, ENOUGH));
	assert_false(batch_cache_is_full(&c->cache));
	size_t room = batch_cache_room(&c->cache, PART_FUNCTIONS);
	assert_null(batch_cache_alloc(&c->cache, PART_FUNCTIONS, room + 1));
	assert_true(batch_cache_is_full(&c->cache));
	assert_null(get(c, 3, BASE + 3 * SIZE, ENOUGH));
	assert_non_null(get(c, 2, BASE + 2 * SIZE, 1)); /* it is there */
	batch_cache_refresh(&c->cache);
	assert_false(batch_cache_is_full(&c->cache));
	assert_null(flat_function_find(&c->cache, 2));
	assert_true(batch_cache_room(&c->cache, PART_FUNCTIONS) > room);
	assert_non_null(get(c, 3, BASE + 3 * SIZE, ENOUGH));
	/* What fits exactly is taken. */
	assert_non_null(
		batch_cache_alloc(&c->cache, PART_FUNCTIONS, batch_cache_room(&c->cache, PART_FUNCTIONS)));
	assert_false(batch_cache_is_full(&c->cache));
	assert_null(batch_cache_alloc(&c->cache, PART_FUNCTIONS, 8));
	assert_true(batch_cache_is_full(&c->cache));
	c->cache.parts[PART_FUNCTIONS].used = c->cache.parts[PART_FUNCTIONS].most; /* that was no function */
}

/* Each part by itself. */
TEST_OF(full_parts, struct cached, c)
{
	for (enum cache_part part = 0; part < CACHE_PARTS; part++) {
		begin(c);
		assert_non_null(batch_cache_alloc(&c->cache, part, 8));
		assert_false(batch_cache_is_full(&c->cache));
		assert_null(batch_cache_alloc(&c->cache, part, batch_cache_room(&c->cache, part) + 1));
		assert_int_equal(c->cache.texts_full, part == PART_TEXTS);
		assert_int_equal(c->cache.functions_full, part == PART_FUNCTIONS);
		batch_cache_deinit(&c->cache);
	}
}

/* A full part of functions stays while announced queries need it. */
TEST_OF(full_with_a_chunk, struct cached, c)
{
	const struct batch_query queries[] = {query(BASE + 2 * SIZE)};
	begin(c);
	assert_non_null(get(c, 2, BASE + 2 * SIZE, ENOUGH));
	assert_int_equal(chunk_begin(&c->cache, queries, 1), 0);
	chunk_find(&c->cache, &text, NULL, NULL);
	assert_null(batch_cache_alloc(&c->cache, PART_FUNCTIONS, SIZE_MAX / 2));
	assert_false(batch_cache_is_full(&c->cache));
	batch_cache_refresh(&c->cache);
	assert_non_null(flat_function_find(&c->cache, 2));
	assert_non_null(chunk_place(&c->cache, 0, BASE + 2 * SIZE));
	chunk_advance(&c->cache, 1);
	assert_true(batch_cache_is_full(&c->cache));
	batch_cache_refresh(&c->cache);
	assert_null(flat_function_find(&c->cache, 2));
	assert_false(batch_cache_is_full(&c->cache));
}

/* ---- Announced ---- */

/* Announces @n queries for addresses of function @index, @apart bytes from one to the next. */
static void announce(struct cached *c, uint32_t index, size_t n, uint64_t apart)
{
	struct batch_query *queries = calloc(n, sizeof(*queries));
	const uint64_t start = BASE + index * SIZE;
	for (size_t i = 0; i < n; i++)
		queries[i] = query(start + (n - 1 - i) * apart);
	batch_cache_end_chunk(&c->cache);
	assert_int_equal(chunk_begin(&c->cache, queries, n), 0);
	assert_true(batch_cache_has_chunk(&c->cache));
	assert_false(chunk_is_found(&c->cache));
	chunk_find(&c->cache, &text, NULL, NULL);
	assert_true(chunk_is_found(&c->cache));
	for (size_t i = 0; i < n; i++) {
		const struct place *place = chunk_place(&c->cache, i, queries[i].addr);
		assert_non_null(place);
		assert_int_equal(place->off, queries[i].addr - start);
		assert_null(chunk_place(&c->cache, i, queries[i].addr + 1));
	}
	assert_null(chunk_place(&c->cache, n, start));
	free(queries);
}

/* A function whose record was read often enough is cut for good, wherever it is. */
TEST_OF(cut_after_passes, struct cached, c)
{
	begin(c);
	for (size_t i = 0; i < ARRAY_SIZE(busy); i++) {
		for (int pass = 0; pass < PASSES; pass++) {
			announce(c, busy[i], 1, 1);
			assert_null(flat_function_find(&c->cache, busy[i]));
		}
		announce(c, busy[i], 1, 1);
		assert_non_null(flat_function_find(&c->cache, busy[i]));
		size_t used = c->cache.parts[PART_FUNCTIONS].used;
		announce(c, busy[i], 2, 1);
		assert_int_equal(c->cache.parts[PART_FUNCTIONS].used, used);
	}
	announce(c, 5, 1, 1); /* a small one at once */
	assert_non_null(flat_function_find(&c->cache, 5));
}

/* Or is asked for so much at once. */
TEST_OF(cut_for_many, struct cached, c)
{
	begin(c);
	announce(c, LARGE, 100, 4);
	assert_null(flat_function_find(&c->cache, LARGE));
	announce(c, LARGE, MANY_ROWS, 4);
	assert_non_null(flat_function_find(&c->cache, LARGE));
}

/* Names in the places are rendered in advance, each once. */
TEST_OF(names_in_advance, struct cached, c)
{
	struct batch_query queries[2 * PENDING_NAMES + 3];
	begin(c);
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		queries[i] = query(BASE + i / 2 * SIZE + i % 2);
	assert_int_equal(chunk_begin(&c->cache, queries, ARRAY_SIZE(queries)), 0);
	chunk_find(&c->cache, &text, NULL, NULL);
	assert_int_equal(c->cache.names.n, PENDING_NAMES + 2);
	assert_int_equal(c->cache.chunk.n_pending, 0);
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		const struct place *place = chunk_place(&c->cache, 0, queries[i].addr);
		assert_non_null(place);
		const struct flat_calls *calls = (const struct flat_calls *)(c->cache.arena + place->calls);
		char expected[32];
		snprintf(expected, sizeof(expected), "function%zu", i / 2);
		expect_text(c, calls->nodes[0].text, expected);
		chunk_advance(&c->cache, 1);
	}
	assert_false(batch_cache_has_chunk(&c->cache));
}

/* What lies before the first function, or is no address, has no place. */
TEST_OF(without_place, struct cached, c)
{
	struct batch_query queries[4] = {query(BASE - 1), query(BASE + SIZE), query(BASE + SIZE),
					 query(UINT64_MAX)};
	queries[2].kind = BATCH_UNKNOWN;
	begin(c);
	assert_int_equal(chunk_begin(&c->cache, queries, 4), 0);
	chunk_find(&c->cache, &text, NULL, NULL);
	for (size_t i = 0; i < 4; i++) {
		const struct place *place = chunk_place(&c->cache, i, queries[i].addr);
		assert_int_equal(place != NULL, i == 1);
	}
}

EACH_TEST(set_up, tear_down)
