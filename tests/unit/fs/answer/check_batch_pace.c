/*
 * The files q: how much is answered at once, ahead, and with how many threads; which images stay open; and
 * what memory that may take. What records say is in check_batch_file.c.
 */
#include "tests/unit/fs/answer/batch_fixture.h"

#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	AHEAD_MIN = 1024,    /* lines that are announced */
	LINES_MIN = 16,      /* that are parsed at once, however slow answers are, */
	LINES_KEPT = 1024,   /* whose memory is kept, */
	MUCH = 64 << 10,     /* bytes that a FUSE thread does not announce */
	KEPT_OPEN = 4,       /* images */
	AT_ONCE = 64 << 20,  /* bytes; more than there are */
	PRESSURE = 300 << 20 /* bytes that a user holds, above which results are not made ahead */
};

static long n_live;           /* allocations before */
static size_t held_by_others; /* files of the same user */

static int set_up(void **state)
{
	(void)state;
	n_live = live;
	held_by_others = 0;
	batch_fixture_set_up();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	batch_fixture_tear_down();
	assert_int_equal(live, n_live);
	return 0;
}

static void charge(enum account_kind kind, size_t size)
{
	account_charge(b.stream->account, kind, size, &held_by_others);
}

static const char row[] = F("0x1000", "0x0");

enum { ROW_SIZE = sizeof(row) - 1 };

static void expect_rows(size_t n)
{
	const struct text_buf *results = &b.stream->buf.results;
	assert_int_equal(results->n, n * ROW_SIZE);
	for (size_t i = 0; i < n; i++)
		assert_memory_equal(results->v + i * ROW_SIZE, row, ROW_SIZE);
}

/* ---- How much at once ---- */

/* A reader that asks for little gets more made ahead, but not when memory is short. */
TEST(made_ahead)
{
	open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	write_often("1000\n", 1000);
	assert_int_equal(answer_some(1), 0);
	expect_rows(1000);
	write_often("1000\n", 1000);
	charge(ACCOUNT_FILES, PRESSURE);
	assert_int_equal(answer_some(1), 0);
	expect_rows(1);
	assert_int_equal(answer_some(10 * ROW_SIZE), 0);
	expect_rows(11);
	assert_int_equal(answer_some(10 * ROW_SIZE - 1), 0);
	expect_rows(21);
	assert_int_equal(answer_some(10 * ROW_SIZE + 1), 0);
	expect_rows(32);
	charge(ACCOUNT_FILES, 0);
	assert_int_equal(answer_some(1), 0);
	expect_rows(1000);
}

/* Lines are parsed for the results that are wanted, and a few more, in case that these are short. */
TEST(parsed_at_once)
{
	open_sample(ID);
	open_q("q.tsv", OWNER);
	charge(ACCOUNT_FILES, PRESSURE);
	write_often(ID " 1000\n", 5000);
	assert_int_equal(answer_some(1), 0);
	assert_int_equal(b.calls.runs[0], 1);
	for (unsigned i = 1; i < 4; i++) {
		assert_int_equal(answer_some(1000 * ROW_SIZE), 0);
		assert_in_range(b.calls.runs[i], 1120, 1130);
		expect_rows(1 + 1000 * i);
	}
	charge(ACCOUNT_FILES, 0);
}

/* Of several places as well, no more than is wanted. */
TEST(several_places)
{
	open_sample(ID)->addresses.base = 0x1000;
	open_q("q.tsv", OWNER);
	charge(ACCOUNT_FILES, PRESSURE);
	write_lines(ID " 1000\n" ID " 1000\n" ID "/approximate 1000\n" ID " 1000\n");
	assert_int_equal(answer_some(1), 0);
	assert_int_equal(answer_some(ROW_SIZE), 0);
	expect_rows(2);
	assert_int_equal(answer_some(2 * ROW_SIZE), 0);
	expect_rows(4);
	charge(ACCOUNT_FILES, 0);
}

/* Lines that have no answer in time are parsed again: so there are fewer of them, until there is time. */
TEST(slow_answers)
{
	static const size_t slower[] = {16384, 4096, 1024, 256, 64, LINES_MIN, LINES_MIN};
	static const size_t faster[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 16384};
	unsigned call = 0;
	open_sample(ID);
	open_q("q.tsv", OWNER);
	write_often(ID " 1000\n", 60000);
	b.stream->slices.until = 0;
	for (size_t i = 0; i < ARRAY_SIZE(slower); i++) {
		assert_int_equal(answer_some(AT_ONCE), 0);
		assert_int_equal(b.calls.runs[call++], slower[i]);
	}
	b.stream->slices.until = INT64_MAX;
	for (size_t i = 0; i < ARRAY_SIZE(faster); i++) {
		assert_int_equal(answer_some(AT_ONCE), 0);
		assert_int_equal(b.calls.runs[call++], faster[i]);
	}
	answer_all();
	expect_rows(60000);
	assert_int_equal(atomic_load(&b.a.metrics.batch_addresses), 60000);
}

/* When time is up the call ends, after the first place. */
TEST(out_of_time)
{
	open_sample(ID);
	open_q("q.tsv", OWNER);
	b.stream->slices.until = 0;
	write_lines(ID " 1000\n" ID "/approximate 1000\n" ID " 1000\n");
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(answer_some(AT_ONCE), 0);
		expect_rows(i);
	}
	assert_int_equal(answer_some(AT_ONCE), 1);
}

/* ---- Announcing ---- */

static void expect_announced(unsigned calls, size_t n)
{
	assert_int_equal(b.calls.announced, calls);
	assert_int_equal(b.calls.n_ahead, n);
}

/* Many lines in an image's own q, all that are addresses, once. */
TEST(announced)
{
	open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	write_often("1000\n", AHEAD_MIN - 1);
	answer_all();
	expect_announced(0, 0);
	assert_int_equal(b.calls.went_on, 0);
	write_often("1000\n", AHEAD_MIN);
	answer_all();
	expect_announced(1, AHEAD_MIN);
	assert_int_equal(b.calls.went_on, 1);
	expect_rows(AHEAD_MIN);
	write_lines("1000\n");
	answer_all();
	expect_announced(1, AHEAD_MIN);
	write_often("1000\n", AHEAD_MIN + 1);
	write_lines("zz\n1000\n");
	answer_all();
	expect_announced(2, AHEAD_MIN + 1);
	write_lines("zz\n");
	write_often("1000\n", AHEAD_MIN);
	answer_all();
	expect_announced(2, AHEAD_MIN + 1);
	/* Not the last one before it has its newline, whatever was written there before. */
	write_often("\n", 6 * AHEAD_MIN);
	answer_all();
	write_often("1000\n", AHEAD_MIN);
	write_lines("1000");
	answer_all();
	expect_announced(3, AHEAD_MIN);
}

/* Not again while some of them have no answer yet; but all of the rest when their batch is gone. */
TEST(announced_once)
{
	open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	reads("1000\n", row);
	charge(ACCOUNT_FILES, PRESSURE);
	write_often("1000\n", 3 * AHEAD_MIN);
	for (size_t i = 1; i <= 5; i++) {
		assert_int_equal(answer_some(100 * ROW_SIZE), 0);
		expect_rows(100 * i);
		expect_announced(1, 3 * AHEAD_MIN);
		assert_int_equal(b.calls.went_on, i);
	}
	b.stream->kind->trim(b.stream);
	assert_int_equal(answer_some(100 * ROW_SIZE), 0);
	expect_announced(2, 3 * AHEAD_MIN - 500);
	charge(ACCOUNT_FILES, 0);
	answer_all();
	expect_announced(2, 3 * AHEAD_MIN - 500);
	expect_rows(3 * AHEAD_MIN);
}

/* What is announced is what will be asked, in the terms of the file. */
TEST(announced_places)
{
	open_sample(ID)->addresses.base = 0x1000;
	open_q(ID "/base/7000/q.tsv", OWNER);
	write_often("7000\n7011\n10\n", AHEAD_MIN);
	answer_all();
	expect_announced(1, 3 * AHEAD_MIN);
	for (size_t i = 0; i < 6; i += 3) {
		const struct batch_query *queries = &b.calls.ahead[i];
		assert_int_equal(queries[0].kind, BATCH_ADDRESS);
		assert_int_equal(queries[0].given, 0x7000);
		assert_int_equal(queries[0].addr, 0x1000);
		assert_int_equal(queries[1].kind, BATCH_ADDRESS);
		assert_int_equal(queries[1].addr, 0x1011);
		assert_int_equal(queries[2].kind, BATCH_UNKNOWN);
	}
}

TEST(most_that_are_announced)
{
	open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	write_often("1000\n", BATCH_EXPECTED + AHEAD_MIN);
	assert_int_equal(answer_some(1), 0);
	expect_announced(1, BATCH_EXPECTED);
}

/* The root's q has lines of any image. */
TEST(root_announces_nothing)
{
	open_sample(ID);
	open_q("q.tsv", OWNER);
	write_often("1000\n", AHEAD_MIN);
	write_lines(ID " 1000\n");
	answer_all();
	write_often(ID " 1000\n", AHEAD_MIN);
	answer_all();
	expect_announced(0, 0);
}

/* Nothing is answered before all of it was looked at. */
TEST(no_time_to_announce)
{
	open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	write_often("1000\n", AHEAD_MIN);
	b.calls.no_time = 3;
	b.stream->slices.until = 0;
	assert_int_equal(answer_some(1), 0);
	assert_int_equal(b.calls.answered, 0);
	expect_rows(0);
	b.stream->slices.until = INT64_MAX;
	assert_int_equal(answer_some(1), 0);
	assert_int_equal(b.calls.went_on, 4);
	expect_announced(1, AHEAD_MIN);
	expect_rows(AHEAD_MIN);
}

/* The file was truncated meanwhile. */
TEST(announced_in_vain)
{
	open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	write_often("1000\n", AHEAD_MIN);
	b.calls.announce_err = -EFAULT;
	assert_int_equal(answer_some(1), -EAGAIN);
	assert_int_equal(b.calls.went_on + b.calls.answered, 0);
	assert_int_equal(current(b.a.f)->state, STATE_COLD);
	open_sample(ID);
	answer_all();
	expect_announced(2, AHEAD_MIN);
	expect_rows(AHEAD_MIN);
}

/* A thread that serves requests has no time for much. */
TEST(handed_over)
{
	open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	b.call.on_runner = false;
	write_often("0001000\n", MUCH / 8 - 1);
	write_lines("01000\n");
	assert_int_equal(pending(), MUCH - 2);
	answer_all();
	expect_rows(MUCH / 8);
	write_often("0001000\n", MUCH / 8);
	assert_int_equal(answer_some(1), -EAGAIN);
	assert_true(call_is_handed_over(&b.call));
	assert_int_equal(pending(), MUCH);
	b.call.on_runner = true;
	answer_all();
	expect_rows(MUCH / 8);
	/* What was announced it can go on with. */
	charge(ACCOUNT_FILES, PRESSURE);
	write_often("0001000\n", MUCH / 4);
	assert_int_equal(answer_some(1), 0);
	b.call.on_runner = false;
	assert_int_equal(answer_some(1), 0);
	expect_rows(2);
	charge(ACCOUNT_FILES, 0);
	/* Nothing is announced in the root's. */
	open_q("q.tsv", OWNER);
	b.call.on_runner = false;
	write_often(ID " 1000\n", MUCH / 8);
	answer_all();
	expect_rows(MUCH / 8);
}

/* ---- Threads ---- */

static unsigned threads_of_another;

/* Another q is read meanwhile. */
static void read_another(void)
{
	struct stream *stream = b.stream;
	struct call call = b.call;
	b.stream = NULL;
	b.call.addresses = NULL;
	open_q(OTHER_ID "/q.tsv", STRANGER);
	reads("1000\n", F_OF("0x1000", "0x0", "other"));
	threads_of_another = b.calls.threads;
	stream_free(b.stream);
	b.stream = stream;
	b.call = call;
}

TEST(helpers)
{
	atomic_uint *busy = &b.a.answers.batch_helpers;
	b.a.answers.batch_threads = 4;
	open_sample(ID);
	open_sample(OTHER_ID);
	open_q(ID "/q.tsv", OWNER);
	for (unsigned others = 0; others <= 5; others++) {
		atomic_store(busy, others);
		reads("1000\n", row);
		assert_int_equal(b.calls.threads, others < 3 ? 4 - others : 1);
		assert_int_equal(atomic_load(busy), others);
	}
	assert_int_equal(b.calls.shards, 4);
	/* They are taken for as long as the batch takes. */
	atomic_store(busy, 0);
	b.calls.meanwhile = read_another;
	reads("1000\n", row);
	assert_int_equal(threads_of_another, 1);
	assert_int_equal(atomic_load(busy), 0);
	b.calls.answer_err = -ENOMEM;
	write_lines("1000\n");
	assert_int_equal(answer_some(1), -ENOMEM);
	assert_int_equal(atomic_load(busy), 0);
	/* The root's has none, and its images have no use for them. */
	open_q("q.tsv", OWNER);
	reads(ID " 1000\n", row);
	assert_int_equal(b.calls.threads, 1);
	assert_int_equal(b.calls.shards, 1);
	reads(NO_ID " 1000\n", NONE("0x1000"));
	assert_int_equal(b.calls.shards, 1);
}

/* Any number of threads writes the same. */
TEST(many_threads)
{
	enum { LINES = 10000 };
	struct text_buf lines = {0}, alone = {0};
	char line[16];
	uint32_t chance = 1;
	open_sample(ID);
	for (unsigned i = 0; i < LINES; i++) {
		chance = chance * 1103515245 + 12345;
		snprintf(line, sizeof(line), "%x\n", 0xff0 + (chance >> 16) % 0x40);
		text_str(&lines, line);
	}
	for (unsigned threads = 1; threads <= 4; threads += 3) {
		const struct text_buf *results;
		b.a.answers.batch_threads = threads;
		open_q(ID "/q.tsv", OWNER);
		results = &b.stream->buf.results;
		write_bytes(lines.v, lines.n);
		answer_all();
		if (threads == 1)
			text_bytes(&alone, results->v, results->n);
		assert_int_equal(results->n, alone.n);
		assert_memory_equal(results->v, alone.v, alone.n);
	}
	text_deinit(&lines);
	text_deinit(&alone);
}

/* ---- Images that stay open ---- */

static const char *const ids[] = {"aa00000000000000", "aa00000000000001", "aa00000000000002",
				  "aa00000000000003", "aa00000000000004"};

/* The images named are asked in that order; so many batches are made. */
static void asks(const char *names, unsigned made)
{
	char line[64];
	b.calls.made = 0;
	for (; *names; names++) {
		snprintf(line, sizeof(line), "%s 1000\n", ids[*names - 'a']);
		write_lines(line);
		answer_all();
	}
	assert_int_equal(b.calls.made, made);
}

TEST(most_recently_used)
{
	struct handle *handles[ARRAY_SIZE(ids)];
	static const char *const paths[] = {"a", "b", "c", "d", "e"};
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		put_image(&b.a, ids[i], paths[i]);
		handles[i] = open_sample(ids[i]);
	}
	open_q("q.tsv", OWNER);
	asks("aaaa", 1);
	asks("abcdabcddcba", KEPT_OPEN - 1);
	asks("dcbabdac", 0);
	for (size_t i = 0; i < KEPT_OPEN; i++) /* the image's, that of the batch, that of the held file */
		assert_int_equal(atomic_load(&handles[i]->refs), 3);
	asks("e", 1); /* in place of b, which was used before the others */
	assert_int_equal(atomic_load(&handles[1]->refs), 2);
	asks("cade", 0);
	asks("b", 1);
	asks("adeb", 0);
	asks("c", 1);
	asks("abcdeabcde", 8);
	b.stream->kind->trim(b.stream);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_int_equal(atomic_load(&handles[i]->refs), 1);
	asks("e", 1);
}

/* What stands for no image is kept as well. */
TEST(unknown_lines)
{
	open_sample(ID);
	open_q("q.tsv", OWNER);
	for (unsigned i = 0; i < 3; i++)
		reads(NO_ID " 1000\nzz\n" ID " 1000\n" NO_ID " 1000\n",
		      NONE("0x1000") NONE("zz") F("0x1000", "0x0") NONE("0x1000"));
	assert_int_equal(b.calls.made, 2);
}

/* An open q keeps its image from being forgotten. */
TEST(pinned)
{
	const struct image *image = current(b.a.f)->image;
	uint32_t pins = image->pins;
	open_q(ID "/q.tsv", OWNER);
	assert_int_equal(image->pins, pins + 1);
	open_q("q.tsv", OWNER);
	assert_int_equal(image->pins, pins);
}

/* ---- Memory ---- */

static size_t charged(enum account_kind kind)
{
	return charged_to_all(&b.a, kind);
}

/* A user who holds too much has caches freed after each answer. */
TEST(caches)
{
	static const char of_both[] = ID " 1000\n" OTHER_ID " 1000\n";
	static const char rows[] = F("0x1000", "0x0") F_OF("0x1000", "0x0", "other");
	struct handle *handle = open_sample(ID);
	open_sample(OTHER_ID);
	open_q("q.tsv", OWNER);
	reads(ID " 1000\n", row);
	const size_t one = charged(ACCOUNT_BATCHES);
	assert_true(one > 1000);
	assert_true(charged(ACCOUNT_HELD) >= handle->map_size);
	for (unsigned i = 0; i < 3; i++) /* until all is made that is ever needed */
		reads(of_both, rows);
	const size_t both = charged(ACCOUNT_BATCHES);
	assert_in_range(both, one + one / 2, 3 * one);
	/* As much as is permitted, and a byte more. */
	charge(ACCOUNT_BATCHES, ACCOUNT_BATCHES_MAX / 2 - both);
	b.calls.made = 0;
	reads(of_both, rows);
	assert_int_equal(charged(ACCOUNT_BATCHES), ACCOUNT_BATCHES_MAX / 2);
	charge(ACCOUNT_BATCHES, ACCOUNT_BATCHES_MAX / 2 - both + 1);
	reads(of_both, rows);
	assert_int_equal(charged(ACCOUNT_BATCHES), held_by_others);
	assert_int_equal(b.calls.made, 0);
	reads(ID " 1000\n", row);
	assert_int_equal(b.calls.made, 1);
	assert_int_equal(charged(ACCOUNT_BATCHES), held_by_others + one);
	charge(ACCOUNT_BATCHES, 0);
	b.stream->kind->trim(b.stream);
	assert_int_equal(charged(ACCOUNT_BATCHES) + charged(ACCOUNT_HELD), 0);
	assert_int_equal(b.stream->buf.extra, 0);
}

/* Lines that are parsed are charged, and only those of a short chunk are kept, and charged, for the next. */
TEST(parsed_lines)
{
	enum { LINE_SIZE_MIN = sizeof(struct context) + sizeof(struct batch_query) + 2 * sizeof(void *) };
	open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	for (size_t n = LINES_KEPT; n < 4 * LINES_KEPT; n += LINES_KEPT) {
		write_often("1000\n", n);
		assert_int_equal(answer_some(AT_ONCE), 0);
		assert_in_range(b.stream->buf.extra, n * LINE_SIZE_MIN, 4 * n * LINE_SIZE_MIN);
		long before = live;
		assert_int_equal(answer_some(AT_ONCE), 1);
		assert_int_equal(live, n <= LINES_KEPT ? before : before - 2);
		assert_int_equal(b.stream->buf.extra > 0, n <= LINES_KEPT);
	}
}

EACH_TEST(set_up, tear_down)
