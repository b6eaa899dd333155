/*
 * Many addresses at once get the answers they would get one by one: of every kind of function, of damaged
 * files, of functions too large to be kept, in every format. With GSYM files as arguments: the same for
 * those.
 */
#include "sample.h"

#include <stdatomic.h>
#include <stdio.h>

#include "batch_check.h"
#include "gsym/codec/format.h"
#include "gsym/render/batch/batch_cache.h"
#include "gsym/render/batch/sharded_batch.h"
#include "tests/unit/times_slower.h"

enum {
	QUERIES = 400,
	BASE = 0x1000,
};

static uint64_t chance_state;

static uint32_t chance(uint32_t below)
{
	chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((chance_state >> 33) % below);
}

static const char long_name[] = "x%c_a_name_longer_than_what_is_kept";

/* A function with rows, some at one place, some without line or file, and inlined calls that nest and
 * overlap. */
static void add_busy(struct sample *s, uint64_t off, const char *name, size_t n)
{
	struct gsym_row *rows = calloc(n, sizeof(*rows));
	struct gsym_range *ranges = calloc(n, sizeof(*ranges));
	struct gsym_inline *inlines = calloc(n, sizeof(*inlines));
	uint32_t file = sample_file(s, "/src", "b\tc.c"), at = 0;
	for (size_t i = 0; i < n; i++) {
		at += chance(3) ? 1 + chance(6) : 0;
		rows[i] = (struct gsym_row){at, chance(9) ? file : 0, chance(9) ? 1 + chance(5000) : 0};
		ranges[i] = (struct gsym_range){(uint32_t)i * 3, 9};
		inlines[i] = (struct gsym_inline){.name = sample_string(s, chance(2) ? "in" : "_ZN3fooC1Ev"),
						  .call_file = chance(4) ? file : 0,
						  .call_line = chance(100),
						  .depth = 1,
						  .first_range = (uint32_t)i,
						  .n_ranges = 1};
		if (i % 3) { /* in the one before, of which the start is 3 bytes back */
			ranges[i] = (struct gsym_range){ranges[i - i % 3].off + (uint32_t)(i % 3), 4};
			inlines[i].depth = 2;
		}
	}
	struct gsym_func func = {.start = s->base + off,
				 .size = at + (uint32_t)n * 3 + 40,
				 .name = sample_string(s, name),
				 .rows = rows,
				 .n_rows = n,
				 .inlines = inlines,
				 .n_inlines = n / 4,
				 .ranges = ranges,
				 .n_ranges = n / 4};
	struct gsym_diag diag = {""};
	int err = gsym_writer_add(s->writer, &func, &diag);
	assert_string_equal(diag.text, "");
	assert_int_equal(err, 0);
	free(rows);
	free(ranges);
	free(inlines);
}

static void *make(int kind, size_t *ret_size)
{
	struct sample s;
	struct gsym_func work, twin;
	void *data;
	char name[40000];
	memset(name, 'y', sizeof(name));
	memcpy(name, long_name, sizeof(long_name) - 1);
	name[sizeof(name) - 1] = 0;
	sample_init(&s, sample_kinds[kind], BASE);
	sample_func(&s, 0x100, 0x200, "host", 3);
	sample_work(&s, &work);
	twin = work;
	work.merged = &twin;
	work.n_merged = 1;
	assert_int_equal(gsym_writer_add(s.writer, &work, NULL), 0);
	sample_func(&s, 0x180, 0x10, "same\\start", 4);
	sample_func(&s, 0x180, 0x20, "_ZN1a1bEv", 4);
	sample_func(&s, 0x1a0, 4, "OUTLINED_FUNCTION_0", 7);
	sample_func(&s, 0x1b0, 4, name, 8);
	sample_func(&s, 0x1c0, 4, "no rows", 0);
	sample_func(&s, 0x1e0, 0, "hidden", 0);
	add_busy(&s, 0x400, "busy", 60);
	sample_func(&s, 0x800, 0, "unsized", 9);
	sample_finish(&s, &data, ret_size);
	return data;
}

/* Addresses, now and then again, or next to the last, with what is no address between them. */
static void fill(struct batch_query *queries, size_t n, uint64_t first, uint64_t size)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t addr = first + (size > 1u << 30 ? (uint64_t)chance(1u << 30) * size >> 30
							 : chance((uint32_t)size));
		if (i && !chance(5))
			addr = queries[i - 1].addr + chance(2);
		queries[i] = (struct batch_query){.given = addr + 0x70000, .addr = addr};
		if (!chance(40))
			queries[i].kind = BATCH_UNKNOWN;
		if (!chance(40))
			queries[i] = (struct batch_query){.kind = BATCH_MALFORMED, .text = "a\nb", .size = 3};
		if (!chance(100))
			queries[i].addr = chance(2) ? UINT64_MAX : addr + UINT32_MAX;
	}
}

static struct batch_options options_of(unsigned which)
{
	return (struct batch_options){
		.render = {.format = which % 5,
			   .demangle = which % 3 ? DEMANGLE_AUTO : DEMANGLE_OFF,
			   .module = "m\to"},
		.near = which / 5 & 1,
		.is_return = which / 10 & 1,
	};
}

/* Calls @check with each kind of file and a batch of it. */
static void each_file(void (*check)(struct batch *batch, struct gsym_reader *r))
{
	for (int k = 0; k < 4; k++) {
		struct gsym_reader *r;
		size_t size;
		void *data = make(k, &size);
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
	for (unsigned which = 0; which < 20; which++) {
		struct batch_options options = options_of(which);
		fill(queries, QUERIES, BASE, 0x900);
		assert_true(check_batch(batch, r, &options, queries, QUERIES, SIZE_MAX));
		assert_true(check_batch(batch, r, &options, queries, QUERIES, 1));
		assert_true(check_batch(batch, r, &options, queries, QUERIES, 1000 + chance(5000)));
		assert_true(check_batch(batch, r, &options, queries, 1 + chance(60), 1 << 20));
	}
}

static void every_format(void **state)
{
	(void)state;
	each_file(check_formats);
}

static void expect_same(const void *data, size_t size, const struct batch_options *options)
{
	struct batch_query queries[96];
	struct gsym_reader *r;
	if (gsym_reader_open_memory(data, size, &r, NULL))
		return;
	struct batch *batch = batch_new(r);
	fill(queries, ARRAY_SIZE(queries), BASE + 0xf0, 0x740);
	for (unsigned n = chance(3) ? 0 : chance(6); n > 0;
	     n--) /* from the fourth time on functions are cut for good */
		assert_int_equal(batch_expect(batch, options, queries, ARRAY_SIZE(queries)),
				 ARRAY_SIZE(queries));
	assert_true(check_batch(batch, r, options, queries, ARRAY_SIZE(queries), SIZE_MAX));
	batch_free(batch);
	gsym_reader_close(r);
}

/* Every byte changed. */
static void changed_bytes(void **state)
{
	(void)state;
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0xff};
	for (int k = 0; k < 4; k++) {
		size_t size;
		uint8_t *data = make(k, &size);
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
static void random_records(void **state)
{
	(void)state;
	struct sample s;
	void *data;
	size_t size;
	sample_init(&s, sample_kinds[0], BASE);
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
		fill(queries, QUERIES, BASE, 0x900);
		assert_int_equal(batch_expect(batch, &options, queries + from, n), n);
		assert_true(check_batch(batch, r, &options, queries, QUERIES, 1000 + chance(5000)));
	}
}

/* Queries that were announced, all or some, in other formats between; and those that were not. */
static void announced(void **state)
{
	(void)state;
	each_file(check_announced);
}

/* Every address once, and one many times, in more functions than one chunk has room for. */
static void many_functions(void **state)
{
	(void)state;
	enum { FUNCTIONS = 3000, MANY = BATCH_EXPECTED + 5000, SHOWN = 1000 };
	struct sample s;
	void *data;
	struct batch_query *queries = calloc(MANY, sizeof(*queries));
	struct batch_options options = options_of(4);
	sample_init(&s, sample_kinds[0], BASE);
	for (uint64_t i = 0; i < FUNCTIONS; i++)
		add_busy(&s, 0x100 + i * 0x400, i % 2 ? "_ZN1a1bEv" : "busy", 4 + i % 60);
	struct gsym_reader *r = sample_open(&s, &data);
	struct batch *batch = batch_new(r);
	for (unsigned round = 0; round < 5; round++) {
		fill(queries, MANY, BASE, 0x400 * (FUNCTIONS + 1));
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
static void large_function(void **state)
{
	(void)state;
	enum { ROWS = 300000, MANY = 1200 };
	struct sample s;
	void *data;
	struct batch_query *queries = calloc(MANY, sizeof(*queries));
	struct batch_options options = options_of(1);
	sample_init(&s, sample_kinds[0], BASE);
	sample_func(&s, 0, 8, "before", 1);
	add_busy(&s, 0x100, "large", ROWS);
	struct gsym_reader *r = sample_open(&s, &data);
	struct batch *batch = batch_new(r);
	fill(queries, MANY, BASE, 3 * ROWS);
	assert_true(check_batch(batch, r, &options, queries, MANY, SIZE_MAX));
	fill(queries, MANY, BASE, 3 * ROWS);
	batch_expect(batch, &options, queries, MANY);
	assert_true(check_batch(batch, r, &options, queries, 200, SIZE_MAX));
	for (size_t i = 0; i < 200; i++)
		queries[i] = (struct batch_query){.given = BASE + ROWS, .addr = BASE + ROWS};
	assert_true(check_batch(batch, r, &options, queries, 200, 4096));
	batch_free(batch);
	gsym_reader_close(r);
	free(data);
	free(queries);
}

static bool at_once_by_any(const void *user)
{
	atomic_fetch_add((atomic_uint *)(uintptr_t)user, 1);
	return true;
}

static bool at_once(const void *user)
{
	++*(unsigned *)(uintptr_t)user;
	return true;
}

/* One answer at least, though it is stopped at once; of what is known by heart, a block. */
static void stopped(void **state)
{
	(void)state;
	struct batch_query queries[QUERIES];
	struct gsym_reader *r;
	size_t size, taken;
	void *data = make(0, &size);
	unsigned asked = 0;
	assert_int_equal(gsym_reader_open_memory(data, size, &r, NULL), 0);
	struct batch *batch = batch_new(r);
	fill(queries, QUERIES, BASE, 0x900);
	for (unsigned which = 0; which < 20; which++) {
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
static void announced_in_pieces(void **state)
{
	(void)state;
	enum { FUNCTIONS = 300 };
	struct sample s;
	void *data;
	unsigned asked = 0, stops = 0;
	struct batch_query queries[QUERIES];
	sample_init(&s, sample_kinds[0], BASE);
	for (uint64_t i = 0; i < FUNCTIONS; i++)
		sample_func(&s, 0x20 * i, 0x20, i % 2 ? "_ZN1a1bEv" : "plain", 1 + (uint32_t)i);
	struct gsym_reader *r = sample_open(&s, &data);
	struct batch *batch = batch_new(r);
	for (unsigned round = 0; round < 6; round++) {
		struct batch_options options = options_of(round);
		options.stop = at_once;
		options.user = &asked;
		fill(queries, QUERIES, BASE, 0x20 * FUNCTIONS);
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
static void dropped_names(void **state)
{
	(void)state;
	enum { NAME = 30000, FUNCTIONS = 1200 + (64 << 20) / NAME, MANY = 2 * FUNCTIONS };
	struct sample s;
	void *data;
	char name[NAME];
	struct batch_query *queries = calloc(MANY, sizeof(*queries));
	struct batch_options options = {.render = {.format = RENDER_TEXT, .demangle = DEMANGLE_OFF}};
	sample_init(&s, sample_kinds[0], BASE);
	memset(name, 'n', sizeof(name));
	name[NAME - 1] = 0;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		name[snprintf(name, NAME, "%08x", i)] = 'n';
		sample_func(&s, 0x10 * i, 0x10, name, i);
	}
	struct gsym_reader *r = sample_open(&s, &data);
	struct batch *batch = batch_new(r);
	for (size_t i = 0; i < MANY; i++) /* each function twice */
		queries[i].given = queries[i].addr = BASE + 0x10 * (i % FUNCTIONS);
	assert_int_equal(batch_expect(batch, &options, queries, MANY), MANY);
	assert_true(check_batch(batch, r, &options, queries, MANY, 1 << 20));
	batch_free(batch);
	gsym_reader_close(r);
	free(data);
	free(queries);
}

/* What a map has no room for, beside what it has: in functions that are asked for again and again. */
static void large_numbers(void **state)
{
	(void)state;
	static const uint32_t lines[] = {(1 << LOCATION_LINE_BITS) - 1, 1 << LOCATION_LINE_BITS,
					 UINT32_MAX - 1};
	for (size_t l = 0; l < ARRAY_SIZE(lines); l++) {
		struct batch_query queries[QUERIES];
		struct sample s;
		void *data;
		sample_init(&s, sample_kinds[0], BASE);
		sample_func(&s, 0, 0x100, "one", 5);
		sample_func(&s, 0x100, 0x100, "far", lines[l]);
		sample_func(&s, 0x200, 0x100, "two", 6);
		struct gsym_reader *r = sample_open(&s, &data);
		struct batch *batch = batch_new(r);
		for (unsigned which = 0; which < 20; which++) {
			struct batch_options options = options_of(which);
			fill(queries, QUERIES, BASE, 0x300);
			if (which % 2)
				batch_expect(batch, &options, queries, QUERIES);
			assert_true(check_batch(batch, r, &options, queries, QUERIES, 2000));
		}
		batch_free(batch);
		gsym_reader_close(r);
		free(data);
	}
}

/* ---- Several threads ---- */

enum { SHARED_QUERIES = 2 * SHARDED_MIN };

/*
 * Calls start threads, 40,000 in all, and qemu-user 7.2 keeps up to 280 KiB of each that has ended. For an
 * emulator there are fewer rounds and fewer calls.
 */
static unsigned shared_rounds(void)
{
	return times_slower() > 1 ? 3 : 9;
}

/* What one batch says of all. */
static void answer_by_one(const struct gsym_reader *r, const struct batch_options *options,
			  const struct batch_query *queries, size_t n, struct text_buf *out)
{
	struct batch *batch = batch_new(r);
	for (size_t done = 0, taken; done < n; done += taken)
		batch_answer(batch, options, queries + done, n - done, SIZE_MAX, out, &taken, NULL);
	batch_free(batch);
}

/* Calls with @enough bytes each until all are answered; true when they said @want. */
static bool is_shared(struct sharded_batch *sharded, const struct batch_options *options,
		      const struct shard_run *run, const struct batch_query *queries, size_t n, size_t enough,
		      const struct text_buf *want)
{
	struct text_buf out = {0};
	struct gsym_diag diag;
	int err = 0;
	for (size_t done = 0, taken = 0; done < n && (!err || err == -EBADMSG); done += taken) {
		size_t ask = 1 + chance(4000);
		err = sharded_batch_answer(sharded, options, run, queries + done,
					   ask < n - done ? ask : n - done, out.n + enough * times_slower(),
					   &out, &taken, &diag);
		assert_true(taken > 0);
	}
	bool same = out.n == want->n && memcmp(out.v, want->v, out.n) == 0;
	text_deinit(&out);
	return same && (!err || err == -EBADMSG);
}

static int compare_addresses(const void *a, const void *b)
{
	const struct batch_query *x = a, *y = b;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* In the orders that are divided in different ways. */
static void arrange(struct batch_query *queries, size_t n, unsigned how)
{
	fill(queries, n, BASE, 0x900);
	if (how == 1)
		qsort(queries, n, sizeof(*queries), compare_addresses);
	for (size_t i = 0; how == 2 && i < n; i++)
		if (chance(8))
			queries[i] = (struct batch_query){.given = BASE + 0x410, .addr = BASE + 0x410};
}

static void each_order(struct gsym_reader *r, struct batch_query *queries)
{
	static const struct shard_run two = {.threads = 2}, three = {.threads = 3};
	struct sharded_batch *sharded = sharded_batch_new(r, 3);
	for (unsigned round = 0; round < shared_rounds(); round++) {
		struct batch_options options = options_of(round * 7);
		const struct shard_run *run = round % 2 ? &two : &three;
		struct text_buf want = {0};
		size_t n;
		arrange(queries, SHARED_QUERIES, round % 3);
		answer_by_one(r, &options, queries, SHARED_QUERIES, &want);
		assert_int_equal(sharded_batch_expect(sharded, &options, run, queries, SHARED_QUERIES, &n),
				 0);
		assert_int_equal(n, SHARED_QUERIES);
		assert_true(is_shared(sharded, &options, run, queries, SHARED_QUERIES,
				      round % 4 ? 100000 : 500, &want));
		assert_true(sharded_batch_memory(sharded) > SHARED_QUERIES * sizeof(*queries));
		text_deinit(&want);
	}
	sharded_batch_free(sharded);
}

/* The same bytes as of one batch, whatever the order and however they are taken. */
static void shared_by_threads(void **state)
{
	(void)state;
	struct batch_query *queries = calloc(SHARED_QUERIES, sizeof(*queries));
	if (times_slower() > 1)
		printf("REDUCED: %u rounds of 9 for several threads, calls with %u times as much\n",
		       shared_rounds(), times_slower());
	for (int k = 0; k < 4; k++) {
		struct gsym_reader *r;
		size_t size;
		void *data = make(k, &size);
		if (k == 3) /* damage in records */
			memset((char *)data + size / 2, 0xff, 8);
		if (gsym_reader_open_memory(data, size, &r, NULL) == 0) {
			each_order(r, queries);
			gsym_reader_close(r);
		}
		free(data);
	}
	free(queries);
}

static int fail_some(void *user, int (*work)(void *arg), void *arg)
{
	(void)user;
	(void)work;
	(void)arg;
	return -EFAULT;
}

/* Other queries than those that were announced, calls that are stopped, and reads that fail. */
static void shared_otherwise(void **state)
{
	(void)state;
	struct batch_query *queries = calloc(SHARED_QUERIES, sizeof(*queries));
	static const struct shard_run run = {.threads = 2}, failing = {.threads = 2, .guarded = fail_some};
	struct batch_options options = options_of(3), stopped_options = options;
	struct text_buf want = {0};
	struct gsym_reader *r;
	size_t size, n;
	atomic_uint asked = 0;
	void *data = make(0, &size);
	assert_int_equal(gsym_reader_open_memory(data, size, &r, NULL), 0);
	stopped_options.stop = at_once_by_any;
	stopped_options.user = &asked;
	struct sharded_batch *sharded = sharded_batch_new(r, 2);
	for (unsigned round = 0; round < 4; round++) {
		arrange(queries, SHARED_QUERIES, 0);
		assert_int_equal(
			sharded_batch_expect(sharded, &stopped_options, &run, queries, SHARED_QUERIES, &n),
			0);
		while (sharded_batch_expect_more(sharded, &stopped_options, &run))
			;
		if (round == 1)
			queries[5000].addr++, queries[5001].kind = BATCH_UNKNOWN;
		if (round == 2)
			assert_int_equal(sharded_batch_answer(sharded, &options, &failing, queries, 1000,
							      1000, &want, &n, NULL),
					 -EFAULT);
		assert_int_equal(want.n, 0);
		answer_by_one(r, &options, queries, SHARED_QUERIES, &want);
		assert_true(is_shared(sharded, round == 3 ? &stopped_options : &options, &run, queries,
				      SHARED_QUERIES, 50000, &want));
		want.n = 0;
		assert_int_equal(
			sharded_batch_expect(sharded, &options, &failing, queries, SHARED_QUERIES, &n),
			-EFAULT);
		assert_int_equal(n, 0);
	}
	assert_true(asked > 0);
	text_deinit(&want);
	sharded_batch_free(sharded);
	gsym_reader_close(r);
	free(data);
	free(queries);
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
	for (unsigned which = 0; which < 20 && same; which += 3) {
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_format),        cmocka_unit_test(changed_bytes),
		cmocka_unit_test(random_records),      cmocka_unit_test(large_function),
		cmocka_unit_test(large_numbers),       cmocka_unit_test(stopped),
		cmocka_unit_test(announced),           cmocka_unit_test(many_functions),
		cmocka_unit_test(announced_in_pieces), cmocka_unit_test(dropped_names),
		cmocka_unit_test(shared_by_threads),   cmocka_unit_test(shared_otherwise),
	};
	int failed = 0;
	for (int i = 1; i < argc; i++)
		failed |= check_file(argv[i]);
	return argc > 1 ? failed : cmocka_run_group_tests(tests, NULL, NULL);
}
