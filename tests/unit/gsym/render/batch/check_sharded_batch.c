/*
 * A batch that is divided among threads says what one batch says: in every order, however it is taken, when
 * it is stopped, and when its reads fail.
 */
#include "tests/unit/gsym/render/batch/batch_sample.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "gsym/render/batch/sharded_batch.h"
#include "tests/lib/unit.h"
#include "tests/unit/times_slower.h"

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
	fill(queries, n, BATCH_BASE, 0x900);
	if (how == 1)
		qsort(queries, n, sizeof(*queries), compare_addresses);
	for (size_t i = 0; how == 2 && i < n; i++)
		if (chance(8))
			queries[i] =
				(struct batch_query){.given = BATCH_BASE + 0x410, .addr = BATCH_BASE + 0x410};
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
TEST(shared_by_threads)
{
	struct batch_query *queries = calloc(SHARED_QUERIES, sizeof(*queries));
	if (times_slower() > 1)
		printf("REDUCED: %u rounds of 9 for several threads, calls with %u times as much\n",
		       shared_rounds(), times_slower());
	for (int k = 0; k < BATCH_SAMPLE_KINDS; k++) {
		struct gsym_reader *r;
		size_t size;
		void *data = batch_sample(k, &size);
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

static bool at_once_by_any(const void *user)
{
	atomic_fetch_add((atomic_uint *)(uintptr_t)user, 1);
	return true;
}

static int fail_some(void *user, int (*work)(void *arg), void *arg)
{
	(void)user;
	(void)work;
	(void)arg;
	return -EFAULT;
}

/* Other queries than those that were announced, calls that are stopped, and reads that fail. */
TEST(shared_otherwise)
{
	struct batch_query *queries = calloc(SHARED_QUERIES, sizeof(*queries));
	static const struct shard_run run = {.threads = 2}, failing = {.threads = 2, .guarded = fail_some};
	struct batch_options options = options_of(3), stopped_options = options;
	struct text_buf want = {0};
	struct gsym_reader *r;
	size_t size, n;
	atomic_uint asked = 0;
	void *data = batch_sample(0, &size);
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
