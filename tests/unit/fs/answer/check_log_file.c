/*
 * The file log: what becomes of its lines, what is waited for, what the reader sees of images that are
 * damaged or closed meanwhile. Which images a line may mean is in check_log_images.c, how it is recognized is
 * up to log/engine.
 */
#include "tests/unit/fs/answer/log_fixture.h"

#include "fs/answer/answer_files.h"
#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <string.h>

enum {
	PIECE_MIN = 4 << 10,
	PIECE_MAX = 64 << 10,
	MANY = 1 << 20, /* bytes; more than is read at once */
};

static struct image *image_of(const char *id)
{
	return revision_of(t.a.f, id)->image;
}

/* ---- Lines ---- */

TEST(lines)
{
	open_at_base(ID);
	reads("at " ID "+0x4\n", "at " ID "+0x4 f at /src/a.c:10\n");
	reads(ID "+0x10 unknown: " ID "+0x1000\n",
	      ID "+0x10 f::one() at /src/a.c:20 unknown: " ID "+0x1000\n");
	reads("none\n", "none\n");
	reads(ID "+0x4", ID "+0x4 f at /src/a.c:10"); /* the last line may lack its newline */
	reads("", "");
	assert_int_equal(t.stream->buf.input.n, 0);
}

/* What is not settled yet is what was written last; then nothing more may come. */
TEST(rest_of_input)
{
	write_log("a line\n#0 " ID " 0x1000");
	assert_int_equal(answer(), 0);
	assert_int_equal(t.written.n, 1);
	assert_int_equal(t.written.rest[0], FILTER_MORE);
	open_at_base(ID);
	assert_int_equal(answer(), 0);
	assert_int_equal(t.written.rest[1], FILTER_END);
	assert_int_equal(t.written.sizes[1], 0);
	expect_results("a line\n#0 " ID " 0x1000 f at /src/a.c:10");
	assert_int_equal(answer(), 1);
	assert_null(t.stream->kind->is_settled);
}

TEST(names_as_configured)
{
	open_at_base(ID);
	assert_int_equal(t.options.demangle, DEMANGLE_AUTO);
	reads(ID "+0x20\n", ID "+0x20 one at /src/a.c:30\n");
	t.a.answers.demangle = false;
	t.a.answers.mark_merged = true;
	open_log(OWNER);
	reads(ID "+0x10\n", ID "+0x10 _ZN1f3oneEv at /src/a.c:20\n");
	reads(ID "+0x20\n", ID "+0x20 one [merged 2] at /src/a.c:30\n");
}

/* Lines that cannot be explained are as they were. */
TEST(left_as_they_are)
{
	static const char other[] = OTHER_ID "+0x4\n", third[] = THIRD_ID "+0x4\n";
	reads(third, third); /* there is none */
	struct revision *rev = revision_of(t.a.f, OTHER_ID);
	mutex_lock(&t.a.f->images.lock);
	revision_set_state(&t.a.f->images, rev, STATE_OPENING);
	revision_set_failed(&t.a.f->images, rev, -EBADMSG, "damaged");
	mutex_unlock(&t.a.f->images.lock);
	reads(other, other);
	put_as(t.a.f, THIRD_ID, WITH(debug_file(), w.path = (char *)"third"; w.ino = 99; w.mode = 0400));
	open_at_base(THIRD_ID);
	reads(third, THIRD_ID "+0x4 f at /src/a.c:10\n");
	open_log(STRANGER);
	reads(third, third);
	assert_int_equal(t.prefetched.n, 0);
}

/* What an id means is asked anew for each read: others may come that begin like it. */
TEST(ambiguous_meanwhile)
{
	static const char line[] = "0011223344556677+0x4\nend\n";
	put_image(&t.a, THIRD_ID, "third");
	open_at_base(THIRD_ID);
	reads(line, "0011223344556677+0x4 f at /src/a.c:10\nend\n");
	put_image(&t.a, "001122334455667700", "similar");
	reads(line, line);
}

/* ---- What is waited for ---- */

static void waits_for(const char *id)
{
	assert_int_equal(answer(), -EAGAIN);
	assert_non_null(t.call.wait.park);
	assert_ptr_equal(t.call.wait.revision, revision_of(t.a.f, id));
}

/* All images of a stack are converted at the same time; the line stays until the last of them is there. */
TEST(conversions)
{
	static const char text[] = "#0 " ID " 0x1000\n#1 " OTHER_ID " 0x1001\n";
	write_log(text);
	assert_int_equal(answer(), 0); /* taken, but another line of the stack may follow */
	expect_results("");
	assert_int_equal(t.prefetched.n, 0);
	waits_for(OTHER_ID);
	assert_int_equal(t.prefetched.n, 2);
	assert_ptr_equal(t.prefetched.images[0], image_of(ID));
	assert_ptr_equal(t.prefetched.images[1], image_of(OTHER_ID));
	open_at_base(OTHER_ID);
	waits_for(ID);
	assert_int_equal(t.prefetched.n, 3);
	expect_results("");
	open_at_base(ID);
	assert_int_equal(answer(), 0);
	expect_results("#0 " ID " 0x1000 f at /src/a.c:10\n#1 " OTHER_ID " 0x1001 f at /src/a.c:10\n");
	assert_int_equal(t.prefetched.n, 3);
}

/* Lines before one that waits have been read. */
TEST(lines_before)
{
	write_log("before\n" ID "+0x4\nafter\n");
	assert_int_equal(answer(), 0);
	expect_results("before\n");
	waits_for(ID);
	open_at_base(ID);
	while (!answer())
		;
	expect_results("before\n" ID "+0x4 f at /src/a.c:10\nafter\n");
}

/* An id that a scan may still find. */
TEST(first_scan)
{
	set_scanned(false);
	write_log(THIRD_ID "+0x4\n\n");
	int err = answer();
	while (!err)
		err = answer();
	assert_int_equal(err, -EAGAIN);
	assert_string_equal(t.call.wait.id, THIRD_ID);
	expect_results("");
}

/* ---- Pieces ---- */

static int take_all(struct text_buf *out, size_t *ret_used)
{
	(void)out;
	(void)ret_used;
	return 0;
}

/* The larger, the longer it takes no time; and small again when it does. */
TEST(growing_pieces)
{
	static char much[MANY];
	static const size_t sizes[] = {PIECE_MIN,     2 * PIECE_MIN, 4 * PIECE_MIN,
				       8 * PIECE_MIN, PIECE_MAX,     PIECE_MAX};
	memset(much, '\n', sizeof(much));
	t.written.instead = take_all;
	assert_int_equal(stream_write(t.stream, 0, false, much, sizeof(much)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(answer(), 0);
		assert_int_equal(t.written.sizes[i], sizes[i]);
		assert_int_equal(t.written.rest[i], FILTER_MORE);
	}
	t.stream->slices.until = 0;
	t.written.n = 0;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(answer(), 0);
	t.stream->slices.until = INT64_MAX;
	assert_int_equal(answer(), 0);
	assert_int_equal(answer(), 0);
	assert_int_equal(t.written.sizes[0], PIECE_MAX);
	assert_int_equal(t.written.sizes[1], PIECE_MIN);
	assert_int_equal(t.written.sizes[2], PIECE_MIN);
	assert_int_equal(t.written.sizes[3], PIECE_MIN);
	assert_int_equal(t.written.sizes[4], 2 * PIECE_MIN);
}

static size_t taken;
static const char *told;
static int told_err;

static int take_some(struct text_buf *out, size_t *ret_used)
{
	text_str(out, told);
	*ret_used = taken;
	return told_err;
}

/* What a call comes to: more may follow, if it took input or made results, whatever came after that. */
TEST(outcomes)
{
	static const struct {
		size_t used;
		const char *out;
		int err, outcome;
	} rows[] = {
		{4, "", 0, 0},          {4, "", -EAGAIN, 0},       {0, "out", 0, 0},
		{0, "out", -EAGAIN, 0}, {0, "", -EAGAIN, -EAGAIN}, {0, "", 0, 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		open_log(OWNER);
		write_log("input");
		t.written.instead = take_some;
		taken = rows[i].used;
		told = rows[i].out;
		told_err = rows[i].err;
		assert_int_equal(answer(), rows[i].outcome);
		assert_int_equal(stream_buf_input(&t.stream->buf).size, 5 - rows[i].used);
		expect_results(rows[i].out);
	}
}

/* ---- Counters, and memory ---- */

static uint64_t n_of(enum lookup_result result)
{
	return atomic_load(&t.a.metrics.log_addresses[result]);
}

TEST(counters)
{
	open_at_base(ID);
	for (unsigned i = 1; i < 4; i++) {
		reads(ID "+0x4 " ID "+0x5 " ID "+0x1000\n",
		      ID "+0x4 f at /src/a.c:10 " ID "+0x5 f at /src/a.c:10 " ID "+0x1000\n");
		assert_int_equal(n_of(LOOKUP_FOUND), 2 * i);
		assert_int_equal(n_of(LOOKUP_UNKNOWN), i);
	}
	open_log(OWNER);
	reads(ID "+0x4\n", ID "+0x4 f at /src/a.c:10\n");
	assert_int_equal(n_of(LOOKUP_FOUND), 7);
	assert_int_equal(n_of(LOOKUP_UNKNOWN), 3);
}

/* The filter's memory is charged with that of the file. */
TEST(memory)
{
	reads("a line\n", "a line\n");
	assert_int_equal(t.stream->buf.extra, filter_memory(t.filter));
	stream_buf_charge(&t.stream->buf);
	assert_true(charged_to_all(&t.a, ACCOUNT_FILES) >= filter_memory(t.filter));
}

/* An image that was used stays open for the next lines, but not for long. */
TEST(held_images)
{
	struct handle *handle = open_at_base(ID);
	reads(ID "+0x4 " ID "+0x5\n", ID "+0x4 f at /src/a.c:10 " ID "+0x5 f at /src/a.c:10\n");
	assert_int_equal(atomic_load(&handle->refs), 2);
	assert_true(charged_to_all(&t.a, ACCOUNT_HELD) >= handle->map_size);
	close_image_of(&t.a, ID);
	reads(ID "+0x4\n", ID "+0x4 f at /src/a.c:10\n");
	assert_int_equal(atomic_load(&handle->refs), 1);
	t.stream->kind->trim(t.stream);
	assert_int_equal(charged_to_all(&t.a, ACCOUNT_HELD), 0);
	write_log(ID "+0x4\n");
	while (!answer())
		;
	waits_for(ID);
}

TEST(opened_without_memory)
{
	struct stream *stream = NULL;
	for (long n = 0; !stream; n++) {
		long before = live;
		struct caller caller = user(STRANGER);
		allowed = n;
		stream = log_file_new(&t.a.answers, caller);
		allowed = -1;
		if (!stream)
			assert_int_equal(live, before);
		assert_true(n < 100);
	}
	stream_free(stream);
}

/* The filter's state is lost when there is no memory: from then on reads fail. */
TEST(read_without_memory)
{
	bool failed = true;
	open_at_base(ID);
	for (long n = 0; failed; n++) {
		open_log(OWNER);
		write_log(ID "+0x4\nend\n");
		allowed = n;
		int err = answer();
		failed = end_allocations();
		assert_true(!err || err == -ENOMEM);
		if (err)
			assert_int_equal(answer(), -EIO);
		else
			expect_results(ID "+0x4 f at /src/a.c:10\nend\n");
		assert_true(n < 100);
	}
}

/* ---- Damage ---- */

/* Only lines before the damage are read; the image is made again at its next use, by another log. */
TEST(truncated)
{
	struct handle *handle = open_at_base(ID);
	reads("before\n", "before\n");
	cut_short(&t.a, handle);
	write_log("more\n" ID "+0x4\nend\n");
	text_str(&t.stream->buf.results, "kept");
	assert_int_equal(answer(), -EIO);
	expect_results("kept");
	assert_int_equal(current(t.a.f)->state, STATE_COLD);
	assert_non_null(current(t.a.f)->reason);
	assert_int_equal(answer(), -EIO);
	open_log(OWNER);
	write_log(ID "+0x4\n\n");
	while (!answer())
		;
	waits_for(ID);
}

static struct handle *victim;

/* Its pages were not read after it was cut short, and yet it may have been read as zeros. */
static int cut_one_of_two(struct text_buf *out, size_t *ret_used)
{
	const struct filter_module one = {.id = ID}, two = {.id = OTHER_ID};
	struct filter_image found;
	(void)ret_used;
	assert_int_equal(t.images.find(t.images.user, &one, &found), 0);
	assert_int_equal(t.images.find(t.images.user, &two, &found), 0);
	cut_short(&t.a, victim);
	text_str(out, "zeros");
	return 0;
}

TEST(truncated_unnoticed)
{
	for (int second = 0; second < 2; second++) {
		struct handle *handles[2] = {open_at_base(ID), open_at_base(OTHER_ID)};
		const char *id = second ? OTHER_ID : ID, *other = second ? ID : OTHER_ID;
		victim = handles[second];
		open_log(OWNER);
		t.written.instead = cut_one_of_two;
		write_log("x");
		assert_int_equal(answer(), -EIO);
		expect_results("");
		assert_int_equal(revision_of(t.a.f, id)->state, STATE_COLD);
		assert_int_equal(revision_of(t.a.f, other)->state, STATE_READY);
		assert_int_equal(answer(), -EIO);
		open_log(OWNER);
		close_image_of(&t.a, other);
	}
}

EACH_TEST_FREES(log_fixture_set_up, log_fixture_tear_down)
