/*
 * The files q: which record each line gets, of the root's and of an image's own, and what a reader fails
 * with. What is waited for is in check_batch_wait.c, how many lines are answered at once in
 * check_batch_pace.c.
 */
#include "tests/unit/fs/answer/batch_fixture.h"

#include "fs/answer/answer_files.h"
#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIMILAR_ID "0123456789abcdee"

enum {
	SHOWN_MAX = 4096, /* bytes of a line that are echoed */
};

struct lines_case {
	const char *lines, *results;
};

static void each_reads(const struct lines_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		reads(cases[i].lines, cases[i].results);
}

/* ---- Lines ---- */

TEST(addresses)
{
	static const struct lines_case cases[] = {
		{"1000\n", F("0x1000", "0x0")},
		{"0x1008\n", F("0x1008", "0x8")},
		{" \t0X1010 \r\n", ONE("0x1010", "0x0")},
		{"00000000000000000000000000101f\n", ONE("0x101f", "0xf")},
		{"1000\n1010\r\n1001\n", F("0x1000", "0x0") ONE("0x1010", "0x0") F("0x1001", "0x1")},
		{"fff\n", UNKNOWN("0xfff")},
		{"ffffffffffffffff\n", UNKNOWN("0xffffffffffffffff")},
		{"10000000000000000\n", UNKNOWN("10000000000000000")},
		{"zz\n", UNKNOWN("zz")},
		{"  1000 1010\t\n", UNKNOWN("1000 1010")},
		{"\n", UNKNOWN("")},
		{"  \t \r\n", UNKNOWN("")},
		{"1000\n\nzz\n1010\n", F("0x1000", "0x0") UNKNOWN("") UNKNOWN("zz") ONE("0x1010", "0x0")},
		{"", ""},
	};
	open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	each_reads(cases, ARRAY_SIZE(cases));
	assert_null(current(b.a.f)->reason);
}

TEST(lines_of_the_root)
{
	static const struct lines_case cases[] = {
		{ID " 1000\n", F("0x1000", "0x0")},
		{" " ID "\t \t0x1010 \r\n", ONE("0x1010", "0x0")},
		{"0123456789ABCDEF 1000\n", F("0x1000", "0x0")},
		{ID " 1000\n" OTHER_ID " 1000\n" ID " 1001\n",
		 F("0x1000", "0x0") F_OF("0x1000", "0x0", "other") F("0x1001", "0x1")},
		{ID " fff\n", UNKNOWN("0xfff")},
		/* No image. */
		{NO_ID " 1000\n", NONE("0x1000")},
		{"status 1000\n", NONE("0x1000")},
		{NO_ID " 1000\n" ID " 1000\nstatus 1001\n", NONE("0x1000") F("0x1000", "0x0") NONE("0x1001")},
		/* No address, or none of such a place. */
		{ID "\n", NONE(ID)},
		{ID " zz\n", NONE(ID " zz")},
		{ID " 1000 1000\n", NONE(ID " 1000 1000")},
		{"1000\n", NONE("1000")},
		{"\n", NONE("")},
		{"zz\n" ID " 1000\n\n", NONE("zz") F("0x1000", "0x0") NONE("")},
		{ID "/sym 1000\n", NONE(ID "/sym 1000")},
		{ID "/base 1000\n", NONE(ID "/base 1000")},
		{ID "/none 1000\n", NONE(ID "/none 1000")},
		{ID "/status 1000\n" ID " 1000\n", NONE(ID "/status 1000") F("0x1000", "0x0")},
		/* Places, which each line says anew. */
		{ID "/ra 1010\n", F("0x1010", "0x10")},
		{ID "/rva 10\n", ONE("0x10", "0x0")},
		{ID "/off 510\n", ONE("0x510", "0x0")},
		{ID "/off 4ff\n" ID " 1000\n", UNKNOWN("0x4ff") F("0x1000", "0x0")},
		{ID "/off 1000\n", UNKNOWN("0x1000")},
		{ID "/base/7f0000 1000\n", UNKNOWN("0x1000")},
		{ID "/base/7f0000 7f0010\n", ONE("0x7f0010", "0x0")},
		{ID "/ra 1010\n" ID " 1010\n" ID "/ra/ 1010\n",
		 F("0x1010", "0x10") ONE("0x1010", "0x0") F("0x1010", "0x10")},
		{ID "/ra 1010\n" ID "/no 1010\n" ID "/ra 1011\n",
		 F("0x1010", "0x10") NONE(ID "/no 1010") ONE("0x1011", "0x1")},
		{ID "/rva 10\n" ID "/off 510\n" ID "/rva 10\n",
		 ONE("0x10", "0x0") ONE("0x510", "0x0") ONE("0x10", "0x0")},
		{ID "/base/7f0000 7f0010\n" ID "/base/7f0010 7f0010\n",
		 ONE("0x7f0010", "0x0") F("0x7f0010", "0x0")},
		{ID "/base/7f0001 7f0010\n" ID "/base/7f0000 7f0010\n",
		 F("0x7f0010", "0xf") ONE("0x7f0010", "0x0")},
		/* The one before has no such place in its file. */
		{OTHER_ID " 1000\n" ID "/off 510\n", F_OF("0x1000", "0x0", "other") ONE("0x510", "0x0")},
	};
	struct handle *handle = open_sample(ID);
	handle->addresses.base = 0x1000;
	handle->addresses.n = 1;
	handle->addresses.segments[0].off = 0x500;
	handle->addresses.segments[0].addr = 0x1000;
	handle->addresses.segments[0].size = 0x100;
	open_sample(OTHER_ID);
	open_q("q.tsv", OWNER);
	each_reads(cases, ARRAY_SIZE(cases));
}

/* Any number of slashes is as good as one. */
TEST(long_places)
{
	static const size_t sizes[] = {127, 128, 129, 2000};
	char line[4096];
	open_sample(ID);
	open_q("q.tsv", OWNER);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(line, '/', sizes[i]);
		memcpy(line, ID, strlen(ID));
		strcpy(line + sizes[i], " 1000\n");
		reads(line, F("0x1000", "0x0"));
		reads(ID "/ra 1010\n", F("0x1010", "0x10"));
		memcpy(line + strlen(ID), "/ra", 3);
		strcpy(line + sizes[i], " 1010\n");
		reads(line, F("0x1010", "0x10"));
	}
}

/* Only so much of a line can be an address, and only so much of any other is echoed. */
TEST(long_lines)
{
	static char line[SHOWN_MAX + 32], results[2 * SHOWN_MAX];
	open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	for (size_t size = SHOWN_MAX - 1; size < SHOWN_MAX + 3; size++) {
		memset(line, '0', size);
		strcpy(line + size - 4, "1000\n");
		size_t shown = size < SHOWN_MAX ? size : SHOWN_MAX;
		snprintf(results, sizeof(results), "%.*s" UNKNOWN(""), (int)shown, line);
		reads(line, size < SHOWN_MAX ? F("0x1000", "0x0") : results);
	}
}

TEST(contexts)
{
	struct handle *handle = open_sample(ID);
	handle->addresses.base = 0x1000;
	open_q(ID "/ra/q.tsv", OWNER);
	reads("1010\n1011\n0\n", F("0x1010", "0x10") ONE("0x1011", "0x1") UNKNOWN("0x0"));
	open_q(ID "/rva/q.tsv", OWNER);
	reads("0\n1000\n", F("0x0", "0x0") UNKNOWN("0x1000"));
	open_q(ID "/off/q.tsv", OWNER);
	reads("0\n1000\n", UNKNOWN("0x0") UNKNOWN("0x1000"));
}

/* Records of several lines end with an empty one. */
TEST(formats)
{
	open_sample(ID);
	open_q(ID "/q", OWNER);
	reads("1010\nzz\n", "f::one() at /src/a.c:20\n\n?? at ??:0\n\n");
	open_q(ID "/q.raw", OWNER);
	reads("1010\n", "_ZN1f3oneEv at /src/a.c:20\n\n");
	b.a.answers.demangle = false;
	open_q("q", OWNER);
	reads(ID " 1010\nzz\n", "_ZN1f3oneEv at /src/a.c:20\n\n?? at ??:0\n\n");
	open_q(ID "/q.json", OWNER);
	write_lines("0x1010\n");
	answer_all();
	const struct text_buf *results = &b.stream->buf.results;
	assert_non_null(memmem(results->v, results->n, "\"ModuleName\":\"/src/debug\"", 25));
	assert_non_null(memmem(results->v, results->n, "\"Address\":\"0x1010\"", 18));
}

/* It may go on: only what is read before all of it was written is answered without it. */
TEST(last_line)
{
	open_sample(ID);
	for (int root = 0; root < 2; root++) {
		const struct stream_kind *kind;
		open_q(root ? "q.tsv" : ID "/q.tsv", OWNER);
		kind = b.stream->kind;
		write_often("\n", 100); /* it is no end of what is written over it */
		answer_all();
		assert_false(kind->is_settled(b.stream));
		write_lines(root ? ID " 1000\n" ID " 1010" : "1000\n1010");
		assert_true(kind->is_settled(b.stream));
		assert_int_equal(answer_some(1 << 20), 0);
		expect_results(F("0x1000", "0x0"));
		assert_false(kind->is_settled(b.stream));
		assert_int_equal(answer_some(1 << 20), 0);
		expect_results(F("0x1000", "0x0") ONE("0x1010", "0x0"));
		assert_int_equal(answer_some(1 << 20), 1);
		assert_false(kind->is_settled(b.stream));
		write_lines(root ? ID " 1" : "1");
		assert_false(kind->is_settled(b.stream));
		write_lines("00f\n");
		assert_true(kind->is_settled(b.stream));
		reads("", F("0x100f", "0xf"));
		write_lines("\n1000");
		assert_int_equal(answer_some(1 << 20), 0);
		assert_int_equal(pending(), 4);
		reads("\n", root ? NONE("1000") : F("0x1000", "0x0"));
		reads(root ? "z" : " z", root ? NONE("z") : UNKNOWN("z"));
	}
}

/* What an id means is asked anew for each read: others may come that begin like it. */
TEST(ambiguous_meanwhile)
{
	open_sample(ID);
	open_q("q.tsv", OWNER);
	reads("0123456789 1000\n", F("0x1000", "0x0"));
	put_image(&b.a, SIMILAR_ID, "similar");
	reads("0123456789 1000\n" ID " 1000\n", NONE("0x1000") F("0x1000", "0x0"));
}

/* All of several images and places are answered by one call, damaged and unknown ones as well. */
TEST(at_once)
{
	open_sample(ID);
	open_sample(OTHER_ID);
	open_q("q.tsv", OWNER);
	write_lines(ID " 1020\n" OTHER_ID " 1000\n" NO_ID " 1000\n" ID "/ra 1010\n");
	assert_int_equal(answer_some(1), 0);
	expect_results(UNKNOWN("0x1020") F_OF("0x1000", "0x0", "other") NONE("0x1000") F("0x1010", "0x10"));
	assert_int_equal(atomic_load(&b.a.metrics.batch_addresses), 4);
}

/* ---- Who may read ---- */

static void set_failed(const char *id, int err)
{
	struct revision *rev = revision_of(b.a.f, id);
	mutex_lock(&b.a.f->images.lock);
	revision_set_state(&b.a.f->images, rev, STATE_OPENING);
	revision_set_failed(&b.a.f->images, rev, err, "reason");
	rev->again = INT64_MAX;
	mutex_unlock(&b.a.f->images.lock);
}

static void put_secret(void)
{
	put_as(b.a.f, NO_ID, WITH(debug_file(), w.path = (char *)"secret"; w.ino = 99; w.mode = 0400));
	open_sample(NO_ID);
}

/* In the root's q each line has its record; an image's own cannot be read. */
TEST(not_permitted)
{
	put_secret();
	open_sample(ID);
	open_q("q.tsv", OWNER);
	reads(NO_ID " 1000\n", F_OF("0x1000", "0x0", "secret"));
	open_q("q.tsv", STRANGER);
	reads(ID " 1000\n" NO_ID " 1000\n" NO_ID " zz\n" ID " 1001\n",
	      F("0x1000", "0x0") NONE("0x1000") NONE(NO_ID " zz") F("0x1001", "0x1"));
	open_q(NO_ID "/q.tsv", STRANGER);
	write_lines("1000\n");
	assert_int_equal(answer_some(1), -EACCES);
	assert_int_equal(pending(), 5);
	expect_results("");
}

TEST(failed)
{
	set_failed(OTHER_ID, -EBADMSG);
	open_q("q.tsv", OWNER);
	reads(OTHER_ID " 1000\n" OTHER_ID "/ra fff\n", NONE("0x1000") NONE("0xfff"));
	open_q(OTHER_ID "/q.tsv", OWNER);
	write_lines("1000\n");
	assert_int_equal(answer_some(1), -EBADMSG);
	assert_int_equal(pending(), 5);
	expect_results("");
}

/* A fault of the machine says nothing of the image: then there is no record that says so. */
TEST(failed_here)
{
	open_sample(ID);
	set_failed(OTHER_ID, -ENOSPC);
	open_q("q.tsv", OWNER);
	write_lines(ID " 1000\n" OTHER_ID " 1000\n");
	assert_int_equal(answer_some(1), 0);
	assert_int_equal(answer_some(1), -ENOSPC);
	expect_results(F("0x1000", "0x0"));
	assert_int_equal(pending(), strlen(OTHER_ID " 1000\n"));
}

/* ---- Damage ---- */

/* The line is as unknown, and the image's status says why. */
TEST(damaged)
{
	open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	reads("1000\n", F("0x1000", "0x0"));
	assert_null(current(b.a.f)->reason);
	reads("1020\n1000\n", UNKNOWN("0x1020") F("0x1000", "0x0"));
	assert_non_null(strstr(current(b.a.f)->reason, "function"));
	assert_int_equal(current(b.a.f)->state, STATE_READY);
}

/* The image is made again, and waited for. */
TEST(truncated)
{
	struct handle *handle = open_sample(ID);
	open_q(ID "/q.tsv", OWNER);
	reads("1000\n", F("0x1000", "0x0"));
	cut_short(&b.a, handle);
	write_lines("1001\n");
	text_str(&b.stream->buf.results, "before\n");
	WAITS_FOR(ID, 0x1001);
	assert_int_equal(b.call.tries, 1);
	assert_non_null(strstr(current(b.a.f)->reason, "truncated"));
	open_sample(ID);
	assert_int_equal(answer_some(1), 0);
	expect_results("before\n" F("0x1001", "0x1"));
}

/* But not for ever. */
TEST(truncated_again_and_again)
{
	open_q(ID "/q.tsv", OWNER);
	write_lines("1001\n");
	for (unsigned i = 0; i < CALL_TRIES_MAX; i++) {
		cut_short(&b.a, open_sample(ID));
		WAITS_FOR(ID, 0x1001);
		assert_int_equal(b.call.tries, i + 1);
	}
	cut_short(&b.a, open_sample(ID));
	assert_int_equal(answer_some(1), -EIO);
	assert_int_equal(pending(), 5);
	expect_results("");
}

/* ---- Memory ---- */

TEST(opened_without_memory)
{
	const struct request request = {.kind = REQUEST_BATCH};
	struct image *image = current(b.a.f)->image;
	struct stream *stream = NULL;
	uint32_t pins = image->pins;
	for (long n = 0; !stream; n++) {
		long before = live;
		struct caller caller = {.uid = OWNER, .groups = calloc(1, sizeof(gid_t)), .n_groups = 1};
		allowed = n;
		stream = batch_file_new(&b.a.answers, image, &request, caller);
		allowed = -1;
		if (!stream)
			assert_int_equal(live, before);
		assert_int_equal(image->pins, stream ? pins + 1 : pins);
		assert_true(n < 100);
	}
	stream_free(stream);
	assert_int_equal(image->pins, pins);
}

static void no_more_batches(void)
{
	b.calls.no_batches = 1;
}

/* It is told at once. */
TEST(no_batch)
{
	open_sample(ID);
	open_q("q.tsv", OWNER);
	write_lines(ID " 1000\n" NO_ID " 1000\n");
	b.calls.no_batches = 1;
	assert_int_equal(answer_some(1), -ENOMEM);
	b.calls.meanwhile = no_more_batches;
	assert_int_equal(answer_some(1), 0);
	expect_results(F("0x1000", "0x0"));
	b.calls.no_batches = 1;
	assert_int_equal(answer_some(1), -ENOMEM);
	assert_int_equal(answer_some(1), 0);
	expect_results(F("0x1000", "0x0") NONE("0x1000"));
}

/* Each allocation fails once: no line gets lost or is answered twice, and the next read goes on. */
static void lines_without_memory(const char *path, const char *lines, const char *results, int outcome)
{
	bool failed_once = true;
	for (long n = 0; failed_once; n++) {
		open_q(path, OWNER);
		write_lines(lines);
		b.calls.n_prefetched = 0;
		allowed = n;
		int err = answer_some(1);
		failed_once = end_allocations();
		if (err != -ENOMEM && err != outcome)
			fail_msg("%d after %ld allocations", err, n);
		while (!(err = answer_some(1)))
			;
		assert_int_equal(err, *results ? 1 : outcome);
		expect_results(results);
		assert_true(n < 300);
	}
}

TEST(without_memory)
{
	open_sample(ID);
	lines_without_memory(ID "/q.tsv", "1000\n1010\nzz\n",
			     F("0x1000", "0x0") ONE("0x1010", "0x0") UNKNOWN("zz"), 0);
	lines_without_memory("q.tsv", ID " 1000\n" NO_ID " 1000\n" ID "/ra 1010\n",
			     F("0x1000", "0x0") NONE("0x1000") F("0x1010", "0x10"), 0);
	lines_without_memory("q.tsv", OTHER_ID " 1000\n" OTHER_ID " 1001\n", "", -EAGAIN);
	assert_null(current(b.a.f)->reason);
}

EACH_TEST_FREES(batch_fixture_set_up, batch_fixture_tear_down)
