/*
 * The files q before images are converted: what a reader waits for, what a worker is asked first, and which
 * conversions start ahead.
 */
#include "tests/unit/fs/answer/batch_fixture.h"

#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <string.h>

enum {
	EARLY_MAX = 64,    /* lines that a worker can be asked for */
	PREFETCH_MAX = 64, /* images that are converted ahead */
};

/* ---- Addresses ---- */

TEST(asked_addresses)
{
	open_q(ID "/ra/q.tsv", OWNER);
	write_lines("1001\nzz\n\n1011\n0\n");
	WAITS_FOR(ID, 0x1000, 0x1010);
	assert_int_equal(b.call.addresses[0].origin, ADDRESS_LINKED);
	open_q("q.tsv", OWNER);
	write_lines(ID " 1000\n" NO_ID " 1001\n" OTHER_ID " 1002\nzz\n" ID "/rva 1003\n" ID "/base/10 f\n");
	WAITS_FOR(ID, 0x1000, 0x1003);
	assert_int_equal(b.call.addresses[0].origin, ADDRESS_LINKED);
	assert_int_equal(b.call.addresses[1].origin, ADDRESS_FROM_BASE);
	assert_int_equal(pending(), strlen(ID " 1000\n" NO_ID " 1001\n" OTHER_ID " 1002\nzz\n" ID
					      "/rva 1003\n" ID "/base/10 f\n"));
	/* Of lines that were answered before nothing is asked. */
	open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	reads("1000\n1001\n1002\n", F("0x1000", "0x0") F("0x1001", "0x1") F("0x1002", "0x2"));
	forget_image(ID);
	write_lines("1003\n1004\n");
	WAITS_FOR(ID, 0x1003, 0x1004);
}

/* For many lines all of the image is needed. */
TEST(many_addresses)
{
	for (unsigned n = EARLY_MAX - 1; n <= EARLY_MAX + 1; n++) {
		open_q(ID "/q.tsv", OWNER);
		write_often("1000\n", n);
		assert_int_equal(answer_some(1), -EAGAIN);
		assert_ptr_equal(b.call.wait.revision, current(b.a.f));
		assert_int_equal(b.call.wait.n_addresses, n <= EARLY_MAX ? n : 0);
	}
	for (unsigned n = EARLY_MAX - 1; n <= EARLY_MAX; n++) { /* and one without an address */
		open_q(ID "/q.tsv", OWNER);
		write_lines("\n");
		write_often("1000\n", n);
		assert_int_equal(answer_some(1), -EAGAIN);
		assert_int_equal(b.call.wait.n_addresses, n < EARLY_MAX ? n : 0);
	}
}

/* An id that the first scan may still find waits for its end. */
TEST(first_scan)
{
	open_sample(ID);
	mutex_lock(&b.a.f->images.lock);
	b.a.f->images.scanned = false;
	mutex_unlock(&b.a.f->images.lock);
	open_q("q.tsv", OWNER);
	write_lines(ID " 1000\n" NO_ID " 1000\n");
	assert_int_equal(answer_some(1), 0);
	expect_results(F("0x1000", "0x0"));
	assert_int_equal(answer_some(1), -EAGAIN);
	assert_string_equal(b.call.wait.id, NO_ID);
	/* An image of which only the symbols are known so far. */
	put_as(b.a.f, NO_ID, WITH(program_file(SOURCE_SYMBOLS), w.ino = 99));
	assert_int_equal(answer_some(1), -EAGAIN);
	assert_null(b.call.wait.revision);
	assert_int_equal(b.call.wait.n_addresses, 0);
}

static void add_fragment(const char *id, uint64_t start, const char *name)
{
	const struct made_function function = {.start = start, .size = 0x10, .name = name, .line = 10};
	give_fragment(b.a.f, revision_of(b.a.f, id), make_entry(&b.a, id, &function, 1));
}

static void drop_fragments(const char *id)
{
	take_fragments(b.a.f, revision_of(b.a.f, id));
}

/* What a fragment has is answered; the rest is waited for. */
TEST(early_answers)
{
	add_fragment(ID, 0x1000, "f");
	open_q(ID "/q.tsv", OWNER);
	write_lines("1000\nzz\n1010\n1001\n1011\n");
	assert_int_equal(answer_some(1), 0);
	expect_results(F("0x1000", "0x0") UNKNOWN("zz"));
	WAITS_FOR(ID, 0x1010, 0x1001, 0x1011);
	assert_int_equal(b.call.wait.fragments_seen, 1);
	add_fragment(ID, 0x1010, "_ZN1f3oneEv");
	open_q("q.tsv", OWNER);
	write_lines(NO_ID " 1\n" ID " 1000\n" NO_ID " 2\n" ID "/ra 1001\n" OTHER_ID " 1000\n");
	assert_int_equal(answer_some(1), 0);
	expect_results(NONE("0x1") F("0x1000", "0x0") NONE("0x2") F("0x1001", "0x1"));
	WAITS_FOR(OTHER_ID, 0x1000);
	/* Not for many lines. */
	open_q(ID "/q.tsv", OWNER);
	write_often("1000\n", EARLY_MAX + 1);
	WAITS_FOR(ID);
	open_q(ID "/q.raw.tsv", OWNER);
	write_often("1010\n", EARLY_MAX);
	assert_int_equal(answer_some(1), 0);
	assert_int_equal(pending(), 0);
	assert_non_null(memmem(b.stream->buf.results.v, b.stream->buf.results.n, "\t_ZN1f3oneEv\t0x0\t", 17));
	drop_fragments(ID);
}

/* A worker that did not know the first line is not asked for it again: it may be in no function. */
TEST(asked_in_vain)
{
	open_q(ID "/q.tsv", OWNER);
	write_lines("1000\n1001\n");
	WAITS_FOR(ID, 0x1000, 0x1001);
	b.call.early = EARLY_OVER;
	WAITS_FOR(ID);
	b.call.early = EARLY_NEW; /* another reader, of the same line */
	WAITS_FOR(ID);
	open_sample(ID);
	assert_int_equal(answer_some(1), 0);
	/* Lines after it are asked, be they as long. */
	forget_image(ID);
	write_lines("1002\n");
	WAITS_FOR(ID, 0x1002);
	b.call.early = EARLY_OVER;
	WAITS_FOR(ID);
	b.call.early = EARLY_NEW;
	WAITS_FOR(ID);
	add_fragment(ID, 0x1000, "f");
	assert_int_equal(answer_some(1), 0);
	write_lines("1010\n");
	WAITS_FOR(ID, 0x1010);
	drop_fragments(ID);
}

/* A call asks once, but what it did not ask another may. */
TEST(asked_by_another)
{
	open_q("q.tsv", OWNER);
	write_lines(OTHER_ID " 1000\n");
	b.call.early = EARLY_OVER;
	WAITS_FOR(OTHER_ID);
	b.call.early = EARLY_NEW;
	WAITS_FOR(OTHER_ID, 0x1000);
}

/* For the addresses that a worker is to be asked for. */
TEST(asked_without_memory)
{
	open_q(ID "/q.tsv", OWNER);
	write_lines("1000\n");
	WAITS_FOR(ID, 0x1000);
	allowed = 0;
	int err = answer_some(1);
	allowed = -1;
	assert_int_equal(err, -ENOMEM);
	WAITS_FOR(ID, 0x1000);
}

/* ---- Conversions ahead ---- */

static void expect_prefetched(size_t n, const char *id, bool whole)
{
	assert_int_equal(answer_some(1), -EAGAIN);
	assert_int_equal(b.calls.n_prefetched, n);
	if (n) {
		assert_ptr_equal(b.calls.prefetched[n - 1].image, revision_of(b.a.f, id)->image);
		assert_int_equal(b.calls.prefetched[n - 1].whole, whole);
	}
}

/* Of the images of all lines that were written so far, once. */
TEST(prefetched)
{
	open_q("q.tsv", OWNER);
	write_lines(ID " 1000\n" ID " 1001\n" NO_ID " 1000\n" OTHER_ID " 1000\n");
	expect_prefetched(2, OTHER_ID, false);
	assert_ptr_equal(b.calls.prefetched[0].image, current(b.a.f)->image);
	expect_prefetched(2, OTHER_ID, false);
	write_lines(ID " 1002\n");
	expect_prefetched(3, ID, false);
	open_sample(ID);
	assert_int_equal(answer_some(1), 0);
	expect_prefetched(3, ID, false);
	open_sample(OTHER_ID);
	answer_all();
	assert_int_equal(b.calls.n_prefetched, 3);
	/* Later lines are counted anew. */
	forget_image(ID);
	write_lines(ID " 1\n");
	expect_prefetched(4, ID, false);
	open_q(OTHER_ID "/q.tsv", OWNER);
	forget_image(OTHER_ID);
	write_lines("1000\n");
	expect_prefetched(4, ID, false);
}

TEST(prefetched_of_many)
{
	open_q("q.tsv", OWNER);
	write_often(ID " 1\n" OTHER_ID " 1\n", EARLY_MAX / 2);
	expect_prefetched(EARLY_MAX, OTHER_ID, false);
	open_q("q.tsv", OWNER);
	b.calls.n_prefetched = 0;
	write_often(ID " 1\n" OTHER_ID " 1\n", PREFETCH_MAX);
	expect_prefetched(PREFETCH_MAX, OTHER_ID, true);
	expect_prefetched(PREFETCH_MAX, OTHER_ID, true);
}

EACH_TEST_FREES(batch_fixture_set_up, batch_fixture_tear_down)
