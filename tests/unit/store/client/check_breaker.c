/* The circuit breaker: when it opens, for how long, and who is let through when it is half open. */
#include "store/client/breaker.h"

#include "tests/lib/unit.h"

static const int64_t start = 1000003;

static bool note_failure(struct breaker *breaker, int64_t now)
{
	assert_true(breaker_allows(breaker, now));
	return breaker_note(breaker, now, true);
}

static void note_success(struct breaker *breaker, int64_t now)
{
	assert_true(breaker_allows(breaker, now));
	assert_false(breaker_note(breaker, now, false));
}

static void open_it(struct breaker *breaker, int64_t now)
{
	assert_false(note_failure(breaker, now));
	assert_false(note_failure(breaker, now));
	assert_true(note_failure(breaker, now));
	assert_int_equal(breaker->state, BREAKER_OPEN);
}

TEST(three_in_a_row)
{
	struct breaker b = {0};
	assert_false(note_failure(&b, start));
	assert_false(note_failure(&b, start));
	note_success(&b, start);
	open_it(&b, start);
	assert_false(breaker_allows(&b, start));
	assert_false(breaker_allows(&b, start + 9999));
	assert_true(breaker_allows(&b, start + 10000));
	assert_int_equal(b.state, BREAKER_HALF_OPEN);
}

/* A server that answers one request of three is used all the same. */
TEST(one_of_three_answered)
{
	struct breaker b = {0};
	for (unsigned i = 0; i < 300; i++) {
		int64_t now = start + i * 100;
		assert_false(note_failure(&b, now));
		assert_false(note_failure(&b, now));
		note_success(&b, now);
	}
}

TEST(doubles)
{
	static const int64_t expected[] = {20000, 40000, 80000, 160000, 300000, 300000};
	struct breaker b = {0};
	int64_t now = start;
	open_it(&b, now);
	now += 10000;
	for (unsigned i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		now += i * 1000000; /* not asked for long: that is no sign that it was well */
		assert_true(note_failure(&b, now));
		assert_false(breaker_allows(&b, now + expected[i] - 1));
		now += expected[i];
	}
	note_success(&b, now);
	assert_int_equal(b.state, BREAKER_CLOSED);
	open_it(&b, now + 1000); /* soon again: as long as before */
	assert_false(breaker_allows(&b, now + 1000 + 299999));
	now += 1000 + 300000;
	note_success(&b, now);
	now += 300000; /* up for five minutes */
	open_it(&b, now);
	assert_false(breaker_allows(&b, now + 9999));
	assert_true(breaker_allows(&b, now + 10000));
}

TEST(half_open)
{
	struct breaker b = {0};
	open_it(&b, start);
	const int64_t now = start + 10000;
	assert_true(breaker_allows(&b, now));
	for (unsigned i = 0; i < 10; i++)
		assert_false(breaker_allows(&b, now + i * 100000));
	breaker_note_canceled(&b);
	assert_int_equal(b.state, BREAKER_HALF_OPEN);
	assert_true(breaker_allows(&b, now));
	assert_false(breaker_allows(&b, now));
	assert_false(breaker_note(&b, now, false));
	assert_int_equal(b.state, BREAKER_CLOSED);
	/* All that failed before is forgotten. */
	assert_false(note_failure(&b, now));
	assert_false(note_failure(&b, now));
	note_success(&b, now);
}

/* Nor do failures before it opened count once it has closed. */
TEST(closed_again)
{
	struct breaker b = {0};
	open_it(&b, start);
	note_success(&b, start + 10000);
	assert_int_equal(b.state, BREAKER_CLOSED);
	assert_false(note_failure(&b, start + 10000));
	assert_false(note_failure(&b, start + 10000));
}

/* One that was allowed before the breaker opened, and ends later, can be told from the trial. */
TEST(late_results)
{
	struct breaker b = {0};
	assert_true(breaker_allows(&b, start));
	unsigned before = b.changes;
	open_it(&b, start);
	assert_false(breaker_note(&b, start + 1, true));
	assert_false(breaker_note(&b, start + 2, false));
	assert_int_equal(b.state, BREAKER_OPEN);
	assert_int_equal(b.until, start + 10000);
	assert_true(breaker_allows(&b, start + 10000));
	assert_true(b.changes != before);
}

TEST(cancel_when_closed)
{
	struct breaker b = {0};
	assert_false(note_failure(&b, start));
	assert_false(note_failure(&b, start));
	assert_true(breaker_allows(&b, start));
	breaker_note_canceled(&b);
	assert_true(note_failure(&b, start)); /* a cancelled request ends no row */
}
