/* Offsets of a stream: which results are kept, which are dropped, where new results begin. */
#include "fs/answer/stream_buf.h"

#include <errno.h>

#include "tests/lib/unit.h"

/* Answers all input: each byte twice. */
static void answer(struct stream_buf *buf)
{
	struct span input = stream_buf_input(buf);
	for (size_t i = 0; i < input.size; i++) {
		text_char(&buf->results, (char)input.data[i]);
		text_char(&buf->results, (char)input.data[i]);
	}
	stream_buf_consume(buf, input.size);
}

static void put(struct stream_buf *buf, uint64_t off, const char *text)
{
	assert_int_equal(stream_buf_write(buf, off, false, text, strlen(text)), 0);
	answer(buf);
}

static void expect(struct stream_buf *buf, uint64_t off, size_t size, const char *want)
{
	assert_int_equal(stream_buf_seek(buf, off), 0);
	struct span got = stream_buf_read(buf, off, size);
	assert_int_equal(got.size, strlen(want));
	assert_memory_equal(got.data, want, got.size);
}

TEST(answers_follow_the_write)
{
	struct stream_buf buf = {0};
	put(&buf, 0, "abc");
	expect(&buf, 3, 100, "aabbcc");
	expect(&buf, 9, 100, "");
	put(&buf, 9, "d");
	expect(&buf, 10, 1, "d");
	expect(&buf, 11, 5, "d");
	stream_buf_deinit(&buf);
}

TEST(reading_ahead_takes_nothing)
{
	struct stream_buf buf = {0};
	put(&buf, 0, "abc");
	expect(&buf, 3, 100, "aabbcc");
	put(&buf, 5, "d"); /* the position says that two bytes were used */
	expect(&buf, 6, 100, "bbccdd");
	stream_buf_deinit(&buf);
}

TEST(going_back_begins_again)
{
	struct stream_buf buf = {0};
	put(&buf, 0, "abc");
	expect(&buf, 3, 2, "aa");
	expect(&buf, 0, 4, "aabb");
	expect(&buf, 4, 9, "cc");
	put(&buf, 0, "d"); /* over what was read last */
	expect(&buf, 1, 9, "dd");
	stream_buf_deinit(&buf);
}

TEST(appending_takes_what_was_read)
{
	struct stream_buf buf = {0};
	assert_int_equal(stream_buf_write(&buf, 0, true, "ab", 2), 0);
	answer(&buf);
	expect(&buf, 2, 3, "aab");
	assert_int_equal(stream_buf_write(&buf, 0, true, "c", 1), 0);
	answer(&buf);
	expect(&buf, 1, 9, "bcc");
	stream_buf_deinit(&buf);
}

TEST(past_the_end_drops_all)
{
	struct stream_buf buf = {0};
	assert_int_equal(stream_buf_write(&buf, 0, false, "abc", 3), 0);
	assert_int_equal(stream_buf_write(&buf, 1000, false, "d", 1), 0);
	answer(&buf);
	expect(&buf, 1001, 9, "dd");
	assert_int_equal(stream_buf_missing(&buf, 1001, 9), 7);
	assert_int_equal(stream_buf_missing(&buf, 1001, 2), 0);
	assert_int_equal(stream_buf_missing(&buf, 1001 + 50, 2), 50);
	stream_buf_deinit(&buf);
}

static void write_blocks(struct stream_buf *buf, const char *block, size_t size, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(stream_buf_write(buf, i * size, false, block, size), 0);
}

TEST(input_is_bounded)
{
	enum { BLOCK = 1 << 20 };
	struct stream_buf buf = {0};
	char *block = calloc(1, BLOCK);
	write_blocks(&buf, block, BLOCK, STREAM_INPUT_MAX / BLOCK);
	assert_int_equal(stream_buf_write(&buf, STREAM_INPUT_MAX, false, "x", 1), -ENOSPC);
	assert_int_equal(stream_buf_input(&buf).size, STREAM_INPUT_MAX);
	stream_buf_consume(&buf, 1);
	assert_int_equal(stream_buf_write(&buf, STREAM_INPUT_MAX, false, "x", 1), 0);
	stream_buf_deinit(&buf);
	free(block);
}

TEST(users_are_bounded)
{
	enum { BLOCK = 1 << 20 };
	struct accounts accounts;
	accounts_init(&accounts);
	struct account *one = account_get(&accounts, 1), *two = account_get(&accounts, 2);
	size_t others = 0, zero = 0;
	struct stream_buf buf = {.account = one}, other = {.account = one}, neighbour = {.account = two};
	char *block = calloc(1, BLOCK);
	account_charge(one, ACCOUNT_FILES, ACCOUNT_FILES_MAX / 2 - 2 * BLOCK, &others);
	assert_int_equal(stream_buf_write(&buf, 0, false, block, BLOCK), 0);
	assert_int_equal(stream_buf_write(&buf, BLOCK, false, block, BLOCK), 0);
	assert_int_equal(stream_buf_write(&other, 0, false, block, BLOCK), -ENOSPC);
	assert_int_equal(stream_buf_write(&neighbour, 0, false, block, BLOCK), 0);
	stream_buf_deinit(&buf);
	assert_int_equal(stream_buf_write(&other, 0, false, block, BLOCK), 0);
	stream_buf_deinit(&other);
	stream_buf_deinit(&neighbour);
	account_charge(one, ACCOUNT_FILES, zero, &others);
	assert_int_equal(atomic_load(&accounts.charged[ACCOUNT_FILES]), 0);
	account_put(one);
	account_put(two);
	accounts_deinit(&accounts);
	free(block);
}

/* Of endless answers the oldest go, and who goes back to them is told. */
TEST(results_are_bounded)
{
	enum { BLOCK = 1 << 20, N = STREAM_KEPT_MAX / BLOCK + 20 };
	struct stream_buf buf = {0};
	char *block = calloc(1, BLOCK);
	assert_int_equal(stream_buf_write(&buf, 0, false, "x", 1), 0);
	stream_buf_consume(&buf, 1);
	for (uint64_t i = 0; i < N; i++) {
		uint64_t off = 1 + i * BLOCK;
		assert_int_equal(stream_buf_seek(&buf, off), 0);
		memset(block, (int)i, BLOCK);
		text_bytes(&buf.results, block, BLOCK);
		assert_int_equal(stream_buf_missing(&buf, off, BLOCK), 0);
		struct span got = stream_buf_read(&buf, off, BLOCK);
		assert_int_equal(got.size, BLOCK);
		assert_memory_equal(got.data, block, BLOCK);
	}
	assert_true(buf.results.n - buf.results_stale <= STREAM_KEPT_MAX + BLOCK);
	assert_true(buf.results.n <= 2 * (STREAM_KEPT_MAX + BLOCK));
	assert_int_equal(stream_buf_seek(&buf, 0), -ESPIPE);
	assert_int_equal(stream_buf_seek(&buf, 1), -ESPIPE);
	assert_int_equal(stream_buf_seek(&buf, 1 + N * (uint64_t)BLOCK - STREAM_KEPT), 0);
	memset(block, N - 1, BLOCK);
	assert_int_equal(stream_buf_seek(&buf, 1 + (N - 1) * (uint64_t)BLOCK), 0);
	assert_memory_equal(stream_buf_read(&buf, 1 + (N - 1) * (uint64_t)BLOCK, BLOCK).data, block, BLOCK);
	assert_int_equal(stream_buf_write(&buf, 1 + N * (uint64_t)BLOCK, false, "y", 1), 0);
	assert_int_equal(buf.results.n, 0);
	answer(&buf);
	expect(&buf, 2 + N * (uint64_t)BLOCK, 9, "yy");
	stream_buf_deinit(&buf);
	free(block);
}

/* When their user is short of memory, only what programs may have read ahead is kept. */
TEST(results_make_room_for_others)
{
	enum { BLOCK = 1 << 20, N = 16, MUCH = ACCOUNT_FILES_MAX / 4 };
	struct accounts accounts;
	accounts_init(&accounts);
	struct account *account = account_get(&accounts, 1);
	size_t others = 0;
	struct stream_buf buf = {.account = account};
	char *block = calloc(1, BLOCK);
	account_charge(account, ACCOUNT_FILES, MUCH, &others);
	for (uint64_t off = 0; off < (uint64_t)N * BLOCK; off += BLOCK) {
		assert_int_equal(stream_buf_seek(&buf, off), 0);
		text_bytes(&buf.results, block, BLOCK);
		assert_int_equal(stream_buf_read(&buf, off, BLOCK).size, BLOCK);
	}
	assert_int_equal(stream_buf_seek(&buf, (uint64_t)N * BLOCK), 0);
	assert_true(atomic_load(&account->charged[ACCOUNT_FILES]) - MUCH <= 2 * BLOCK);
	assert_int_equal(stream_buf_seek(&buf, 0), -ESPIPE);
	assert_int_equal(stream_buf_seek(&buf, (uint64_t)N * BLOCK - 4096), 0);
	assert_int_equal(stream_buf_read(&buf, (uint64_t)N * BLOCK - 4096, 8192).size, 4096);
	stream_buf_deinit(&buf);
	assert_int_equal(atomic_load(&account->charged[ACCOUNT_FILES]), MUCH);
	account_charge(account, ACCOUNT_FILES, 0, &others);
	account_put(account);
	accounts_deinit(&accounts);
	free(block);
}

TEST(no_results_without_end)
{
	struct accounts accounts;
	accounts_init(&accounts);
	struct account *account = account_get(&accounts, 1);
	struct stream_buf buf = {.account = account};
	assert_int_equal(stream_buf_check_memory(&buf), 0);
	buf.extra = ACCOUNT_FILES_MAX;
	assert_int_equal(stream_buf_check_memory(&buf), -ENOMEM);
	stream_buf_deinit(&buf);
	account_put(account);
	accounts_deinit(&accounts);
}

/* Results that are dropped a few at a time are not moved each time, and read right. */
TEST(dropped_by_bits)
{
	enum { N = 1000 };
	struct stream_buf buf = {0};
	char text[N];
	for (size_t i = 0; i < N; i++)
		text[i] = (char)('a' + i % 26);
	assert_int_equal(stream_buf_write(&buf, 0, false, text, N), 0);
	answer(&buf);
	uint64_t base = N;
	for (size_t i = 0; i < N / 2; i++) { /* three bytes of results at a time are taken, two are added */
		assert_int_equal(stream_buf_write(&buf, base + 3, false, "!", 1), 0);
		base += 4;
		if (i % 7 == 0)
			answer(&buf);
		size_t at = 3 * (i + 1);
		char want[2] = {text[at / 2], 0};
		if (at < 2 * N)
			expect(&buf, base, 1, want);
	}
	assert_int_equal(stream_buf_write(&buf, STREAM_OFFSET_MAX, false, "x", 1), -EFBIG);
	assert_int_equal(stream_buf_write(&buf, STREAM_OFFSET_MAX - 1, false, "x", 1), 0);
	assert_int_equal(stream_buf_write(&buf, INT64_MAX, true, "x", 1), 0);
	stream_buf_deinit(&buf);
}

/* A read far ahead would have all answers made and none of them read. */
TEST(far_ahead_is_refused)
{
	struct stream_buf buf = {0};
	assert_int_equal(stream_buf_seek(&buf, 1ULL << 40), 0); /* nothing is left to be answered: the end */
	assert_int_equal(stream_buf_write(&buf, 0, false, "abc", 3), 0);
	assert_int_equal(stream_buf_seek(&buf, 1ULL << 40), -ESPIPE);
	assert_int_equal(stream_buf_seek(&buf, INT64_MAX), -ESPIPE);
	assert_int_equal(stream_buf_seek(&buf, 3 + STREAM_AHEAD_MAX), 0);
	answer(&buf);
	expect(&buf, 3, 9, "aabbcc");
	stream_buf_deinit(&buf);
}
