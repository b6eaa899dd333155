/* Writing and reading as on a tape: what is kept, what is dropped, where answers begin. */
#include "fs/answer/tape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>

/* Answers all input: each byte twice. */
static void answer(struct tape *tape)
{
	struct span input = tape_input(tape);
	for (size_t i = 0; i < input.size; i++) {
		text_char(&tape->results, (char)input.data[i]);
		text_char(&tape->results, (char)input.data[i]);
	}
	tape_answered(tape, input.size);
}

static void put(struct tape *tape, uint64_t off, const char *text)
{
	assert_int_equal(tape_write(tape, off, false, text, strlen(text)), 0);
	answer(tape);
}

static void expect(struct tape *tape, uint64_t off, size_t size, const char *want)
{
	assert_int_equal(tape_seek(tape, off), 0);
	struct span got = tape_read(tape, off, size);
	assert_int_equal(got.size, strlen(want));
	assert_memory_equal(got.data, want, got.size);
}

static void answers_follow_the_write(void **state)
{
	(void)state;
	struct tape tape = {0};
	put(&tape, 0, "abc");
	expect(&tape, 3, 100, "aabbcc");
	expect(&tape, 9, 100, "");
	put(&tape, 9, "d");
	expect(&tape, 10, 1, "d");
	expect(&tape, 11, 5, "d");
	tape_deinit(&tape);
}

static void reading_ahead_takes_nothing(void **state)
{
	(void)state;
	struct tape tape = {0};
	put(&tape, 0, "abc");
	expect(&tape, 3, 100, "aabbcc");
	put(&tape, 5, "d"); /* the position says that two bytes were used */
	expect(&tape, 6, 100, "bbccdd");
	tape_deinit(&tape);
}

static void going_back_begins_again(void **state)
{
	(void)state;
	struct tape tape = {0};
	put(&tape, 0, "abc");
	expect(&tape, 3, 2, "aa");
	expect(&tape, 0, 4, "aabb");
	expect(&tape, 4, 9, "cc");
	put(&tape, 0, "d"); /* over what was read last */
	expect(&tape, 1, 9, "dd");
	tape_deinit(&tape);
}

static void appending_takes_what_was_read(void **state)
{
	(void)state;
	struct tape tape = {0};
	assert_int_equal(tape_write(&tape, 0, true, "ab", 2), 0);
	answer(&tape);
	expect(&tape, 2, 3, "aab");
	assert_int_equal(tape_write(&tape, 0, true, "c", 1), 0);
	answer(&tape);
	expect(&tape, 1, 9, "bcc");
	tape_deinit(&tape);
}

static void past_the_end_drops_all(void **state)
{
	(void)state;
	struct tape tape = {0};
	assert_int_equal(tape_write(&tape, 0, false, "abc", 3), 0);
	assert_int_equal(tape_write(&tape, 1000, false, "d", 1), 0);
	answer(&tape);
	expect(&tape, 1001, 9, "dd");
	assert_int_equal(tape_lacks(&tape, 1001, 9), 7);
	assert_int_equal(tape_lacks(&tape, 1001, 2), 0);
	assert_int_equal(tape_lacks(&tape, 1001 + 50, 2), 50);
	tape_deinit(&tape);
}

static void write_blocks(struct tape *tape, const char *block, size_t size, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(tape_write(tape, i * size, false, block, size), 0);
}

static void input_is_bounded(void **state)
{
	(void)state;
	enum { BLOCK = 1 << 20 };
	struct tape tape = {0};
	char *block = calloc(1, BLOCK);
	write_blocks(&tape, block, BLOCK, TAPE_INPUT_MAX / BLOCK);
	assert_int_equal(tape_write(&tape, TAPE_INPUT_MAX, false, "x", 1), -ENOSPC);
	assert_int_equal(tape_input(&tape).size, TAPE_INPUT_MAX);
	tape_answered(&tape, 1);
	assert_int_equal(tape_write(&tape, TAPE_INPUT_MAX, false, "x", 1), 0);
	tape_deinit(&tape);
	free(block);
}

static void users_are_bounded(void **state)
{
	(void)state;
	enum { BLOCK = 1 << 20 };
	struct accounts accounts;
	accounts_init(&accounts);
	struct account *one = account_get(&accounts, 1), *two = account_get(&accounts, 2);
	size_t others = 0, zero = 0;
	struct tape tape = {.account = one}, other = {.account = one}, neighbour = {.account = two};
	char *block = calloc(1, BLOCK);
	account_count(one, ACCOUNT_FILES, ACCOUNT_FILES_MAX / 2 - 2 * BLOCK, &others);
	assert_int_equal(tape_write(&tape, 0, false, block, BLOCK), 0);
	assert_int_equal(tape_write(&tape, BLOCK, false, block, BLOCK), 0);
	assert_int_equal(tape_write(&other, 0, false, block, BLOCK), -ENOSPC);
	assert_int_equal(tape_write(&neighbour, 0, false, block, BLOCK), 0);
	tape_deinit(&tape);
	assert_int_equal(tape_write(&other, 0, false, block, BLOCK), 0);
	tape_deinit(&other);
	tape_deinit(&neighbour);
	account_count(one, ACCOUNT_FILES, zero, &others);
	assert_int_equal(atomic_load(&accounts.held[ACCOUNT_FILES]), 0);
	account_put(one);
	account_put(two);
	accounts_deinit(&accounts);
	free(block);
}

/* Of endless answers the oldest go, and who goes back to them is told. */
static void results_are_bounded(void **state)
{
	(void)state;
	enum { BLOCK = 1 << 20, N = TAPE_KEPT_MAX / BLOCK + 20 };
	struct tape tape = {0};
	char *block = calloc(1, BLOCK);
	assert_int_equal(tape_write(&tape, 0, false, "x", 1), 0);
	tape_answered(&tape, 1);
	for (uint64_t i = 0; i < N; i++) {
		uint64_t off = 1 + i * BLOCK;
		assert_int_equal(tape_seek(&tape, off), 0);
		memset(block, (int)i, BLOCK);
		text_bytes(&tape.results, block, BLOCK);
		assert_int_equal(tape_lacks(&tape, off, BLOCK), 0);
		struct span got = tape_read(&tape, off, BLOCK);
		assert_int_equal(got.size, BLOCK);
		assert_memory_equal(got.data, block, BLOCK);
	}
	assert_true(tape.results.n - tape.results_used <= TAPE_KEPT_MAX + BLOCK);
	assert_true(tape.results.n <= 2 * (TAPE_KEPT_MAX + BLOCK));
	assert_int_equal(tape_seek(&tape, 0), -ESPIPE);
	assert_int_equal(tape_seek(&tape, 1), -ESPIPE);
	assert_int_equal(tape_seek(&tape, 1 + N * (uint64_t)BLOCK - TAPE_KEPT), 0);
	memset(block, N - 1, BLOCK);
	assert_int_equal(tape_seek(&tape, 1 + (N - 1) * (uint64_t)BLOCK), 0);
	assert_memory_equal(tape_read(&tape, 1 + (N - 1) * (uint64_t)BLOCK, BLOCK).data, block, BLOCK);
	assert_int_equal(tape_write(&tape, 1 + N * (uint64_t)BLOCK, false, "y", 1), 0);
	assert_int_equal(tape.results.n, 0);
	answer(&tape);
	expect(&tape, 2 + N * (uint64_t)BLOCK, 9, "yy");
	tape_deinit(&tape);
	free(block);
}

/* When their user is short of memory, only what programs may have read ahead is kept. */
static void results_make_room_for_others(void **state)
{
	(void)state;
	enum { BLOCK = 1 << 20, N = 16, MUCH = ACCOUNT_FILES_MAX / 4 };
	struct accounts accounts;
	accounts_init(&accounts);
	struct account *account = account_get(&accounts, 1);
	size_t others = 0;
	struct tape tape = {.account = account};
	char *block = calloc(1, BLOCK);
	account_count(account, ACCOUNT_FILES, MUCH, &others);
	for (uint64_t off = 0; off < (uint64_t)N * BLOCK; off += BLOCK) {
		assert_int_equal(tape_seek(&tape, off), 0);
		text_bytes(&tape.results, block, BLOCK);
		assert_int_equal(tape_read(&tape, off, BLOCK).size, BLOCK);
	}
	assert_int_equal(tape_seek(&tape, (uint64_t)N * BLOCK), 0);
	assert_true(atomic_load(&account->held[ACCOUNT_FILES]) - MUCH <= 2 * BLOCK);
	assert_int_equal(tape_seek(&tape, 0), -ESPIPE);
	assert_int_equal(tape_seek(&tape, (uint64_t)N * BLOCK - 4096), 0);
	assert_int_equal(tape_read(&tape, (uint64_t)N * BLOCK - 4096, 8192).size, 4096);
	tape_deinit(&tape);
	assert_int_equal(atomic_load(&account->held[ACCOUNT_FILES]), MUCH);
	account_put(account);
	accounts_deinit(&accounts);
	free(block);
}

static void no_results_without_end(void **state)
{
	(void)state;
	struct accounts accounts;
	accounts_init(&accounts);
	struct account *account = account_get(&accounts, 1);
	struct tape tape = {.account = account};
	assert_int_equal(tape_make(&tape), 0);
	tape.beside = ACCOUNT_FILES_MAX;
	assert_int_equal(tape_make(&tape), -ENOMEM);
	tape_deinit(&tape);
	account_put(account);
	accounts_deinit(&accounts);
}

/* Results that are dropped a few at a time are not moved each time, and read right. */
static void dropped_by_bits(void **state)
{
	(void)state;
	enum { N = 1000 };
	struct tape tape = {0};
	char text[N];
	for (size_t i = 0; i < N; i++)
		text[i] = (char)('a' + i % 26);
	assert_int_equal(tape_write(&tape, 0, false, text, N), 0);
	answer(&tape);
	uint64_t base = N;
	for (size_t i = 0; i < N / 2; i++) { /* three bytes of results at a time are taken, two are added */
		assert_int_equal(tape_write(&tape, base + 3, false, "!", 1), 0);
		base += 4;
		if (i % 7 == 0)
			answer(&tape);
		size_t at = 3 * (i + 1);
		char want[2] = {text[at / 2], 0};
		if (at < 2 * N)
			expect(&tape, base, 1, want);
	}
	assert_int_equal(tape_write(&tape, TAPE_OFFSET_MAX, false, "x", 1), -EFBIG);
	assert_int_equal(tape_write(&tape, INT64_MAX, true, "x", 1), 0);
	tape_deinit(&tape);
}

/* A read far ahead would have all answers made and none of them read. */
static void far_ahead_is_refused(void **state)
{
	(void)state;
	struct tape tape = {0};
	assert_int_equal(tape_seek(&tape, 1ULL << 40), 0); /* nothing is left to be answered: the end */
	assert_int_equal(tape_write(&tape, 0, false, "abc", 3), 0);
	assert_int_equal(tape_seek(&tape, 1ULL << 40), -ESPIPE);
	assert_int_equal(tape_seek(&tape, INT64_MAX), -ESPIPE);
	assert_int_equal(tape_seek(&tape, 3 + TAPE_AHEAD_MAX), 0);
	answer(&tape);
	expect(&tape, 3, 9, "aabbcc");
	tape_deinit(&tape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_follow_the_write),
		cmocka_unit_test(reading_ahead_takes_nothing),
		cmocka_unit_test(going_back_begins_again),
		cmocka_unit_test(appending_takes_what_was_read),
		cmocka_unit_test(past_the_end_drops_all),
		cmocka_unit_test(input_is_bounded),
		cmocka_unit_test(users_are_bounded),
		cmocka_unit_test(results_are_bounded),
		cmocka_unit_test(results_make_room_for_others),
		cmocka_unit_test(no_results_without_end),
		cmocka_unit_test(dropped_by_bits),
		cmocka_unit_test(far_ahead_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
