/*
 * Many addresses at once get the answers they would get one by one: of every kind of function, of damaged
 * files, of functions too large to be kept, in every format. With GSYM files as arguments: the same for
 * those.
 */
#include "tests/unit/gsym/render/batch/batch_sample.h"

#include <stdio.h>

#include "tests/unit/gsym/render/batch/batch_check.h"
#include "gsym/render/batch/batch_cache.h"
#include "tests/lib/unit.h"

enum {
	QUERIES = 400,
};

/* Calls @check with each kind of file and a batch of it. */
static void each_file(void (*check)(struct batch *batch, struct gsym_reader *r))
{
	for (int k = 0; k < BATCH_SAMPLE_KINDS; k++) {
		struct gsym_reader *r;
		size_t size;
		void *data = batch_sample(k, &size);
		assert_int_equal(gsym_reader_open_memory(data, size, &r, NULL), 0);
		struct batch *batch = batch_new(r);
		check(batch, r);
		batch_free(batch);
		gsym_reader_close(r);
		free(data);
	}
}

static void check_formats(struct batch *batch, struct gsym_reader *r)
{
	struct batch_query queries[QUERIES];
	for (unsigned which = 0; which < BATCH_SAMPLE_OPTIONS; which++) {
		struct batch_options options = options_of(which);
		fill(queries, QUERIES, BATCH_BASE, 0x900);
		assert_true(check_batch(batch, r, &options, queries, QUERIES, SIZE_MAX));
		assert_true(check_batch(batch, r, &options, queries, QUERIES, 1));
		assert_true(check_batch(batch, r, &options, queries, QUERIES, 1000 + chance(5000)));
		assert_true(check_batch(batch, r, &options, queries, 1 + chance(60), 1 << 20));
	}
}

TEST(every_format)
{
	each_file(check_formats);
}

static void expect_same(const void *data, size_t size, const struct batch_options *options)
{
	struct batch_query queries[96];
	struct gsym_reader *r;
	if (gsym_reader_open_memory(data, size, &r, NULL))
		return;
	struct batch *batch = batch_new(r);
	fill(queries, ARRAY_SIZE(queries), BATCH_BASE + 0xf0, 0x740);
	for (unsigned n = chance(3) ? 0 : chance(6); n > 0;
	     n--) /* from the fourth time on functions are cut for good */
		assert_int_equal(batch_expect(batch, options, queries, ARRAY_SIZE(queries)),
				 ARRAY_SIZE(queries));
	assert_true(check_batch(batch, r, options, queries, ARRAY_SIZE(queries), SIZE_MAX));
	batch_free(batch);
	gsym_reader_close(r);
}

/* Every byte changed. */
TEST(changed_bytes)
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0xff};
	for (int k = 0; k < BATCH_SAMPLE_KINDS; k++) {
		size_t size;
		uint8_t *data = batch_sample(k, &size);
		for (size_t at = 0; at < size;
		     at += data[at] == 'y' ? 97 : 1) { /* of the long name a few are enough */
			struct batch_options options = options_of((unsigned)at);
			uint8_t was = data[at];
			data[at] = values[at % ARRAY_SIZE(values)];
			expect_same(data, size, &options);
			data[at] = was;
		}
		free(data);
	}
}

/*
 * Inline info and rows of small random numbers: nodes that overlap, nest where they should not, end early,
 * lie before their parents.
 */
TEST(random_records)
{
	struct sample s;
	void *data;
	size_t size;
	sample_init(&s, sample_kinds[0], BATCH_BASE);
	add_busy(&s, 0x100, "busy", 60);
	sample_finish(&s, &data, &size);
	for (int round = 0; round < 800; round++) {
		struct batch_options options = options_of((unsigned)round);
		uint8_t *copy = malloc(size);
		memcpy(copy, data, size);
		size_t from = size / 4 + chance((uint32_t)size / 2), n = 1 + chance(200);
		for (size_t i = from; i < size && i < from + n; i++)
			copy[i] = (uint8_t)(chance(12) ? chance(6) : chance(256));
		expect_same(copy, size, &options);
		free(copy);
	}
	free(data);
}

static void check_announced(struct batch *batch, struct gsym_reader *r)
{
	struct batch_query queries[QUERIES];
	for (unsigned round = 0; round < 40; round++) {
		struct batch_options options = options_of(round / 2);
		size_t from = chance(QUERIES), n = QUERIES - from;
		fill(queries, QUERIES, BATCH_BASE, 0x900);
		assert_int_equal(batch_expect(batch, &options, queries + from, n), n);
		assert_true(check_batch(batch, r, &options, queries, QUERIES, 1000 + chance(5000)));
	}
}

/* Queries that were announced, all or some, in other formats between; and those that were not. */
TEST(announced)
{
	each_file(check_announced);
}

/* Every address once, and one many times, in more functions than one chunk has room for. */
TEST(many_functions)
{
	enum { FUNCTIONS = 3000, MANY = BATCH_EXPECTED + 5000, SHOWN = 1000 };
	struct sample s;
	void *data;
	struct batch_query *queries = calloc(MANY, sizeof(*queries));
	struct batch_options options = options_of(4);
	sample_init(&s, sample_kinds[0], BATCH_BASE);
	for (uint64_t i = 0; i < FUNCTIONS; i++)
		add_busy(&s, 0x100 + i * 0x400, i % 2 ? "_ZN1a1bEv" : "busy", 4 + i % 60);
	struct gsym_reader *r = sample_open(&s, &data);
	struct batch *batch = batch_new(r);
	for (unsigned round = 0; round < 5; round++) {
		fill(queries, MANY, BATCH_BASE, 0x400 * (FUNCTIONS + 1));
		for (size_t i = 0; i < 3000; i++)
			queries[chance(MANY)] = queries[0];
		assert_int_equal(batch_expect(batch, &options, queries, MANY), BATCH_EXPECTED);
		assert_true(check_batch(batch, r, &options, queries + BATCH_EXPECTED - SHOWN, 2 * SHOWN,
					1 << 20));
		assert_true(check_batch(batch, r, &options, queries, SHOWN, 1 << 20));
	}
	batch_free(batch);
	gsym_reader_close(r);
	free(data);
	free(queries);
}

/* More rows than are kept: one address many times, and more different ones than one pass takes. */
TEST(large_function)
{
	enum { ROWS = 300000, MANY = 1200 };
	struct sample s;
	void *data;
	struct batch_query *queries = calloc(MANY, sizeof(*queries));
	struct batch_options options = options_of(1);
	sample_init(&s, sample_kinds[0], BATCH_BASE);
	sample_func(&s, 0, 8, "before", 1);
	add_busy(&s, 0x100, "large", ROWS);
	struct gsym_reader *r = sample_open(&s, &data);
	struct batch *batch = batch_new(r);
	fill(queries, MANY, BATCH_BASE, 3 * ROWS);
	assert_true(check_batch(batch, r, &options, queries, MANY, SIZE_MAX));
	fill(queries, MANY, BATCH_BASE, 3 * ROWS);
	batch_expect(batch, &options, queries, MANY);
	assert_true(check_batch(batch, r, &options, queries, 200, SIZE_MAX));
	for (size_t i = 0; i < 200; i++)
		queries[i] = (struct batch_query){.given = BATCH_BASE + ROWS, .addr = BATCH_BASE + ROWS};
	assert_true(check_batch(batch, r, &options, queries, 200, 4096));
	batch_free(batch);
	gsym_reader_close(r);
	free(data);
	free(queries);
}

static bool at_once(const void *user)
{
	++*(unsigned *)(uintptr_t)user;
	return true;
}

/* One answer at least, though it is stopped at once; of what is known by heart, a block. */
TEST(stopped)
{
	struct batch_query queries[QUERIES];
	struct gsym_reader *r;
	size_t size, taken;
	void *data = batch_sample(0, &size);
	unsigned asked = 0;
	assert_int_equal(gsym_reader_open_memory(data, size, &r, NULL), 0);
	struct batch *batch = batch_new(r);
	fill(queries, QUERIES, BATCH_BASE, 0x900);
	for (unsigned which = 0; which < BATCH_SAMPLE_OPTIONS; which++) {
		struct batch_options options = options_of(which);
		struct text_buf out = {0};
		options.stop = at_once;
		options.user = &asked;
		for (size_t done = 0; done < QUERIES; done += taken) {
			batch_answer(batch, &options, queries + done, QUERIES - done, SIZE_MAX, &out, &taken,
				     NULL);
			assert_in_range(taken, 1, 32);
		}
		struct text_buf whole = {0};
		options.stop = NULL;
		batch_answer(batch, &options, queries, QUERIES, SIZE_MAX, &whole, &taken, NULL);
		assert_int_equal(out.n, whole.n);
		assert_memory_equal(out.v, whole.v, out.n);
		text_deinit(&whole);
		text_deinit(&out);
	}
	assert_true(asked >= QUERIES / 32);
	batch_free(batch);
	gsym_reader_close(r);
	free(data);
}

/* Announced queries of which some are found before the call is stopped, and more by each that goes on. */
TEST(announced_in_pieces)
{
	enum { FUNCTIONS = 300 };
	struct sample s;
	void *data;
	unsigned asked = 0, stops = 0;
	struct batch_query queries[QUERIES];
	sample_init(&s, sample_kinds[0], BATCH_BASE);
	for (uint64_t i = 0; i < FUNCTIONS; i++)
		sample_func(&s, 0x20 * i, 0x20, i % 2 ? "_ZN1a1bEv" : "plain", 1 + (uint32_t)i);
	struct gsym_reader *r = sample_open(&s, &data);
	struct batch *batch = batch_new(r);
	for (unsigned round = 0; round < 6; round++) {
		struct batch_options options = options_of(round);
		options.stop = at_once;
		options.user = &asked;
		fill(queries, QUERIES, BATCH_BASE, 0x20 * FUNCTIONS);
		batch_expect_more(batch, &options);
		assert_int_equal(batch_expect(batch, &options, queries, QUERIES), QUERIES);
		for (size_t done = 0, taken; done < QUERIES; done += taken) {
			struct batch_options answered = options;
			answered.stop = NULL;
			taken = check_call(batch, r, &answered, queries + done, QUERIES - done, 2000);
			assert_true(taken);
			batch_expect_more(batch, &options);
		}
		assert_int_equal(batch_expect(batch, &options, queries, QUERIES), QUERIES);
		while (batch_expect_more(batch, &options))
			stops++;
		assert_false(batch_expect_more(batch, &options));
	}
	assert_true(asked > 6);
	assert_in_range(stops, 1, 6 * QUERIES);
	batch_free(batch);
	gsym_reader_close(r);
	free(data);
}

/* More names than are kept, announced: what was found for a query outlives its names. */
TEST(dropped_names)
{
	enum { NAME = 30000, FUNCTIONS = 1200 + (64 << 20) / NAME, MANY = 2 * FUNCTIONS };
	struct sample s;
	void *data;
	char name[NAME];
	struct batch_query *queries = calloc(MANY, sizeof(*queries));
	struct batch_options options = {.render = {.format = RENDER_TEXT, .demangle = DEMANGLE_OFF}};
	sample_init(&s, sample_kinds[0], BATCH_BASE);
	memset(name, 'n', sizeof(name));
	name[NAME - 1] = 0;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		name[snprintf(name, NAME, "%08x", i)] = 'n';
		sample_func(&s, 0x10 * i, 0x10, name, i);
	}
	struct gsym_reader *r = sample_open(&s, &data);
	struct batch *batch = batch_new(r);
	for (size_t i = 0; i < MANY; i++) /* each function twice */
		queries[i].given = queries[i].addr = BATCH_BASE + 0x10 * (i % FUNCTIONS);
	assert_int_equal(batch_expect(batch, &options, queries, MANY), MANY);
	assert_true(check_batch(batch, r, &options, queries, MANY, 1 << 20));
	batch_free(batch);
	gsym_reader_close(r);
	free(data);
	free(queries);
}

/* What a map has no room for, beside what it has: in functions that are asked for again and again. */
TEST(large_numbers)
{
	static const uint32_t lines[] = {(1 << LOCATION_LINE_BITS) - 1, 1 << LOCATION_LINE_BITS,
					 UINT32_MAX - 1};
	for (size_t l = 0; l < ARRAY_SIZE(lines); l++) {
		struct batch_query queries[QUERIES];
		struct sample s;
		void *data;
		sample_init(&s, sample_kinds[0], BATCH_BASE);
		sample_func(&s, 0, 0x100, "one", 5);
		sample_func(&s, 0x100, 0x100, "far", lines[l]);
		sample_func(&s, 0x200, 0x100, "two", 6);
		struct gsym_reader *r = sample_open(&s, &data);
		struct batch *batch = batch_new(r);
		for (unsigned which = 0; which < BATCH_SAMPLE_OPTIONS; which++) {
			struct batch_options options = options_of(which);
			fill(queries, QUERIES, BATCH_BASE, 0x300);
			if (which % 2)
				batch_expect(batch, &options, queries, QUERIES);
			assert_true(check_batch(batch, r, &options, queries, QUERIES, 2000));
		}
		batch_free(batch);
		gsym_reader_close(r);
		free(data);
	}
}

static int check_file(const char *path)
{
	enum { MANY = 40000 };
	struct gsym_reader *r;
	struct gsym_diag diag;
	struct batch_query *queries = calloc(MANY, sizeof(*queries));
	if (gsym_reader_open(path, &r, &diag)) {
		fprintf(stderr, "%s\n", diag.text);
		return 1;
	}
	struct batch *batch = batch_new(r);
	uint32_t n = gsym_reader_info(r)->num_addresses;
	uint64_t first = gsym_reader_address(r, 0), size = gsym_reader_address(r, n - 1) - first + 64;
	bool same = true;
	for (unsigned which = 0; which < BATCH_SAMPLE_OPTIONS && same; which += 3) {
		struct batch_options options = options_of(which);
		fill(queries, MANY, first, size);
		if (which % 2)
			batch_expect(batch, &options, queries, MANY);
		same = check_batch(batch, r, &options, queries, MANY, 1 << 20);
		for (uint32_t i = 0; i < MANY; i++) /* edges of functions, in their order */
			queries[i].addr =
				gsym_reader_address(r, (uint32_t)((uint64_t)i * n / MANY)) - chance(2);
		same = same && check_batch(batch, r, &options, queries, MANY, 1 << 20);
	}
	printf("%s: %s\n", path, same ? "same" : "differs");
	batch_free(batch);
	gsym_reader_close(r);
	free(queries);
	return !same;
}

int main(int argc, char **argv)
{
	int failed = 0;
	for (int i = 1; i < argc; i++)
		failed |= check_file(argv[i]);
	return argc > 1 ? failed : unit_run();
}
