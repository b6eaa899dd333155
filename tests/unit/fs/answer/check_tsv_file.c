/*
 * The tables of an image: measured first, by slices, then rendered piece by piece as they are read, by any
 * offsets; what memory that takes, and what becomes of damaged files.
 */
#include "tests/unit/fs/answer/answer_fixture.h"

#include "fs/answer/tsv_file.h"
#include "fs/call/call.h"
#include "tests/unit/wrap_malloc.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	FUNCTIONS = 2500, /* whose tables have several pieces */
	USER = 7,
	MILLISECOND = 1000000,
};

static struct opened_table {
	struct answer_fixture a;
	struct revision *rev;
	struct handle *handle;
	struct text_buf whole[LISTINGS]; /* the tables, as they should be */
	long n_live;                     /* allocations before */
} t;

/* ---- In place of libfuse, and of the clock ---- */

static struct text_buf replied;
static unsigned replies;
static int64_t passing; /* nanoseconds from one look at the clock to the next; negative: it is the real one */
static int64_t now;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_fuse_reply_buf(fuse_req_t req, const char *data, size_t size)
{
	long before = allowed;
	(void)req;
	allowed = -1;
	text_reset(&replied);
	text_bytes(&replied, data, size);
	allowed = before;
	replies++;
	return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (passing < 0 || clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, ret);
	now += passing;
	*ret = (struct timespec){.tv_nsec = (long)now};
	return 0;
}

/* ---- Pieces that are rendered ---- */

static unsigned rendered;
static size_t largest; /* of them, in bytes, when they are read */
static int render_err; /* of the next one, once */

int __real_listing_append(const struct gsym_reader *reader, enum listing_kind kind, uint32_t from,
			  uint32_t to, size_t enough, const struct render_options *options,
			  struct gsym_decoder *decoder, struct text_buf *out, uint32_t *ret);

int __wrap_listing_append(const struct gsym_reader *reader, enum listing_kind kind, uint32_t from,
			  uint32_t to, size_t enough, const struct render_options *options,
			  struct gsym_decoder *decoder, struct text_buf *out, uint32_t *ret)
{
	int err = render_err;
	rendered++;
	render_err = 0;
	if (err) {
		text_str(out, "half of it");
		return err;
	}
	err = __real_listing_append(reader, kind, from, to, enough, options, decoder, out, ret);
	if (enough == SIZE_MAX && out->n > largest)
		largest = out->n;
	return err;
}

/* ---- An image with many functions ---- */

static void open_large_image(void)
{
	static struct made_function functions[FUNCTIONS];
	static char names[FUNCTIONS][64];
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(names[i], sizeof(names[i]), "function_%05u_of_which_the_name_is_long", i);
		functions[i] = (struct made_function){
			.start = 0x1000 + 16 * i, .size = 16, .name = names[i], .line = i + 1};
	}
	functions[1].name = "_ZN1f3oneEv";
	t.handle = open_image(&t.a, ID, functions, FUNCTIONS);
}

static void render_whole(enum listing_kind kind, bool demangle)
{
	const struct render_options options = {.demangle = demangle ? DEMANGLE_AUTO : DEMANGLE_OFF};
	struct gsym_decoder *decoder = gsym_decoder_new();
	uint32_t next, n = listing_entries(t.handle->reader, kind);
	text_reset(&t.whole[kind]);
	assert_int_equal(__real_listing_append(t.handle->reader, kind, 0, n, SIZE_MAX, &options, decoder,
					       &t.whole[kind], &next),
			 0);
	assert_int_equal(next, n);
	gsym_decoder_free(decoder);
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	passing = -1;
	render_err = 0;
	t.n_live = live;
	answer_fixture_set_up(&t.a, &tsv_file_kind, NULL);
	put_image(&t.a, ID, "debug");
	scanned(t.a.f, 0);
	t.rev = current(t.a.f);
	open_large_image();
	for (enum listing_kind kind = 0; kind < LISTINGS; kind++)
		render_whole(kind, true);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_false(revision_is_pinned(t.rev));
	for (enum listing_kind kind = 0; kind < LISTINGS; kind++)
		text_deinit(&t.whole[kind]);
	text_deinit(&replied);
	answer_fixture_tear_down(&t.a);
	assert_int_equal(live, t.n_live);
	return 0;
}

/* ---- Measuring ---- */

static void *begin(enum listing_kind kind)
{
	void *job = tsv_file_kind.begin(&t.a.answers, t.rev, kind);
	assert_non_null(job);
	return job;
}

static const struct tsv_index *measured(enum listing_kind kind)
{
	struct wait wait = {.revision = NULL};
	const struct tsv_index *index = NULL;
	assert_int_equal(tsv_file_measured(&t.a.answers, t.rev, t.handle, kind, &wait, &index), 0);
	assert_non_null(index);
	return index;
}

TEST(waited_for)
{
	for (enum listing_kind kind = 0; kind < LISTINGS; kind++) {
		struct wait wait = {.revision = NULL};
		const struct tsv_index *index = NULL;
		assert_int_equal(tsv_file_measured(&t.a.answers, t.rev, t.handle, kind, &wait, &index),
				 -EAGAIN);
		assert_ptr_equal(wait.revision, t.rev);
		assert_int_equal(wait.part, kind);
		assert_non_null(wait.park);
		assert_int_equal(do_job(&t.a, &tsv_file_kind, t.rev, kind), 0);
		assert_int_equal(measured(kind)->size, t.whole[kind].n);
	}
	assert_true(measured(LISTING_FUNCTIONS)->pieces.n > 3);
}

/* Its size is that of what is shown. */
TEST(not_demangled)
{
	t.a.answers.demangle = false;
	render_whole(LISTING_FUNCTIONS, false);
	assert_int_equal(do_job(&t.a, &tsv_file_kind, t.rev, LISTING_FUNCTIONS), 0);
	assert_int_equal(measured(LISTING_FUNCTIONS)->size, t.whole[LISTING_FUNCTIONS].n);
}

/* Nothing is done after the end of the slice, and not much more than one piece at the end of it. */
TEST(sliced)
{
	void *job = begin(LISTING_FUNCTIONS);
	now = 0;
	passing = 0;
	rendered = 0;
	assert_int_equal(tsv_file_kind.go_on(job, 0), -EAGAIN);
	assert_int_equal(rendered, 0);
	passing = MILLISECOND;
	assert_int_equal(tsv_file_kind.go_on(job, 3 * MILLISECOND), -EAGAIN);
	assert_int_equal(rendered, 2);
	assert_null(handle_attached(t.handle, SLOT_TABLES + LISTING_FUNCTIONS));
	assert_int_equal(tsv_file_kind.go_on(job, INT64_MAX), 0);
	assert_int_equal(measured(LISTING_FUNCTIONS)->size, t.whole[LISTING_FUNCTIONS].n);
	tsv_file_kind.free(job);
}

/* Two jobs measure the same table: the first that is done is right. */
TEST(measured_twice)
{
	void *first = begin(LISTING_LINES), *second = begin(LISTING_LINES);
	assert_int_equal(tsv_file_kind.go_on(first, INT64_MAX), 0);
	const struct tsv_index *index = measured(LISTING_LINES);
	assert_int_equal(tsv_file_kind.go_on(second, INT64_MAX), 0);
	tsv_file_kind.free(first);
	tsv_file_kind.free(second);
	assert_ptr_equal(measured(LISTING_LINES), index);
	assert_int_equal(index->size, t.whole[LISTING_LINES].n);
}

TEST(not_open)
{
	close_image_of(&t.a, ID);
	assert_null(tsv_file_kind.begin(&t.a.answers, t.rev, LISTING_FILES));
}

/* The image is closed, and made again when it is next used. */
TEST(truncated_meanwhile)
{
	void *job = begin(LISTING_FUNCTIONS);
	cut_short(&t.a, t.handle);
	assert_int_equal(tsv_file_kind.go_on(job, INT64_MAX), -EIO);
	assert_int_equal(t.rev->state, STATE_COLD);
	assert_non_null(t.rev->reason);
	tsv_file_kind.free(job);
}

TEST(measured_without_memory)
{
	int err = -ENOMEM;
	for (long n = 0; err; n++) {
		allowed = n;
		void *job = tsv_file_kind.begin(&t.a.answers, t.rev, LISTING_FUNCTIONS);
		err = job ? tsv_file_kind.go_on(job, INT64_MAX) : -ENOMEM;
		allowed = -1;
		assert_true(!err || err == -ENOMEM);
		assert_int_equal(!err, handle_attached(t.handle, SLOT_TABLES + LISTING_FUNCTIONS) != NULL);
		if (job)
			tsv_file_kind.free(job);
		assert_true(n < 100);
	}
	assert_int_equal(atomic_load(&t.handle->refs), 1);
	assert_null(t.rev->reason);
	assert_int_equal(measured(LISTING_FUNCTIONS)->size, t.whole[LISTING_FUNCTIONS].n);
}

/* ---- Reading ---- */

static struct tsv_file *open_table(enum listing_kind kind)
{
	struct wait wait;
	const struct tsv_index *index;
	if (tsv_file_measured(&t.a.answers, t.rev, t.handle, kind, &wait, &index))
		assert_int_equal(do_job(&t.a, &tsv_file_kind, t.rev, kind), 0);
	struct tsv_file *file = tsv_file_new(&t.a.answers, USER, t.rev, handle_get(t.handle), kind);
	assert_non_null(file);
	return file;
}

static int read_at(struct tsv_file *file, off_t off, size_t size)
{
	struct call call = {.off = off, .size = size};
	unsigned before = replies;
	int err = tsv_file_read(file, &call);
	assert_int_equal(replies, before + !err);
	return err;
}

static void expect_bytes(enum listing_kind kind, struct tsv_file *file, off_t off, size_t size)
{
	const struct text_buf *whole = &t.whole[kind];
	size_t from = off < 0 ? 0 : (size_t)off, left = from < whole->n ? whole->n - from : 0;
	assert_int_equal(read_at(file, off, size), 0);
	assert_int_equal(replied.n, left < size ? left : size);
	if (replied.n)
		assert_memory_equal(replied.v, whole->v + from, replied.n);
}

TEST(whole_tables)
{
	for (enum listing_kind kind = 0; kind < LISTINGS; kind++) {
		struct tsv_file *file = open_table(kind);
		size_t n = t.whole[kind].n;
		expect_bytes(kind, file, 0, n);
		expect_bytes(kind, file, 0, n + 1);
		expect_bytes(kind, file, 0, n - 1);
		expect_bytes(kind, file, (off_t)n - 1, 10);
		expect_bytes(kind, file, (off_t)n, 10);
		expect_bytes(kind, file, INT64_MAX, 10);
		expect_bytes(kind, file, -1, 10);
		expect_bytes(kind, file, 1, 10);
		expect_bytes(kind, file, 5, 0);
		tsv_file_free(file);
	}
}

/* Around the begin of each piece, forwards and backwards. */
TEST(pieces)
{
	struct tsv_file *file = open_table(LISTING_FUNCTIONS);
	const struct tsv_index *index = measured(LISTING_FUNCTIONS);
	for (size_t round = 0; round < 2 * index->pieces.n; round++) {
		size_t i = round < index->pieces.n ? round : 2 * index->pieces.n - 1 - round;
		off_t off = (off_t)index->pieces.v[i].off;
		expect_bytes(LISTING_FUNCTIONS, file, off, 100);
		expect_bytes(LISTING_FUNCTIONS, file, off - 1, 1);
		expect_bytes(LISTING_FUNCTIONS, file, off - 50, 2 * TSV_PIECE);
		expect_bytes(LISTING_FUNCTIONS, file, off + 1000, TSV_PIECE);
	}
	tsv_file_free(file);
}

/* Who reads on has each piece rendered once, however small the reads are. */
TEST(sequential)
{
	struct tsv_file *file = open_table(LISTING_FUNCTIONS);
	rendered = 0;
	largest = 0;
	for (size_t off = 0; off <= t.whole[LISTING_FUNCTIONS].n; off += 1000)
		expect_bytes(LISTING_FUNCTIONS, file, (off_t)off, 1000);
	assert_int_equal(rendered, measured(LISTING_FUNCTIONS)->pieces.n);
	assert_in_range(largest, TSV_PIECE, TSV_PIECE + 200);
	tsv_file_free(file);
}

TEST(names_as_they_are_stored)
{
	t.a.answers.demangle = false;
	render_whole(LISTING_FUNCTIONS, false);
	struct tsv_file *file = open_table(LISTING_FUNCTIONS);
	expect_bytes(LISTING_FUNCTIONS, file, 0, 1000);
	tsv_file_free(file);
}

/* An open table is of the image as it was, and keeps that. */
TEST(kept_while_open)
{
	struct tsv_file *file = open_table(LISTING_FUNCTIONS);
	assert_true(revision_is_pinned(t.rev));
	close_image_of(&t.a, ID);
	assert_int_equal(atomic_load(&t.handle->refs), 1);
	expect_bytes(LISTING_FUNCTIONS, file, 0, 1000);
	tsv_file_free(file);
	tsv_file_free(NULL);
}

/* Neither what was read before nor a part of it is an answer. */
TEST(truncated_while_open)
{
	struct tsv_file *file = open_table(LISTING_FUNCTIONS);
	expect_bytes(LISTING_FUNCTIONS, file, 0, 1000);
	cut_short(&t.a, t.handle);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(read_at(file, 1000, TSV_PIECE), -EIO);
		assert_int_equal(read_at(file, 0, 10), -EIO);
	}
	assert_int_equal(t.rev->state, STATE_COLD);
	assert_non_null(t.rev->reason);
	tsv_file_free(file);
}

/* The file has less than was measured. */
TEST(shorter_than_measured)
{
	struct tsv_index *index = calloc(1, sizeof(*index));
	const size_t n = t.whole[LISTING_FILES].n;
	index->size = n + 10;
	assert_int_equal(vec_push(&index->pieces, (struct tsv_piece){0, 0}), 0);
	assert_true(handle_attach(t.handle, SLOT_TABLES + LISTING_FILES, index, tsv_index_free));
	struct tsv_file *file = open_table(LISTING_FILES);
	expect_bytes(LISTING_FILES, file, 0, n);
	assert_int_equal(read_at(file, 0, n + 1), -EIO);
	assert_int_equal(read_at(file, (off_t)n, 1), -EIO);
	assert_int_equal(read_at(file, (off_t)n + 5, 1), -EIO);
	expect_bytes(LISTING_FILES, file, (off_t)n - 1, 1);
	tsv_file_free(file);
}

/* ---- Memory ---- */

static size_t charged(void)
{
	return charged_to_all(&t.a, ACCOUNT_FILES);
}

/* The piece and the reply are charged to the user, and freed when the user holds much. */
TEST(charged_to_the_user)
{
	size_t other = 0;
	struct tsv_file *file = open_table(LISTING_FUNCTIONS);
	struct account *account = account_get(&t.a.answers.accounts, USER);
	assert_int_equal(charged(), 0);
	expect_bytes(LISTING_FUNCTIONS, file, 0, 1000);
	assert_int_equal(atomic_load(&account->charged[ACCOUNT_FILES]), charged());
	assert_in_range(charged(), TSV_PIECE + 1000, 4 * TSV_PIECE);
	long with_buffers = live;
	size_t before = charged();
	expect_bytes(LISTING_FUNCTIONS, file, 0, 2 * TSV_PIECE);
	assert_true(charged() >= before + TSV_PIECE);
	assert_true(charged() >= 3 * TSV_PIECE);
	account_charge(account, ACCOUNT_FILES, ACCOUNT_FILES_MAX / 2, &other);
	expect_bytes(LISTING_FUNCTIONS, file, 0, 1000);
	assert_int_equal(charged(), other);
	assert_int_equal(live, with_buffers - 2);
	rendered = 0;
	expect_bytes(LISTING_FUNCTIONS, file, 10, 1000);
	assert_int_equal(rendered, 1);
	account_charge(account, ACCOUNT_FILES, 0, &other);
	expect_bytes(LISTING_FUNCTIONS, file, 10, 1000);
	rendered = 0;
	expect_bytes(LISTING_FUNCTIONS, file, 20, 1000);
	assert_int_equal(rendered, 0); /* now it is kept again */
	account_put(account);
	tsv_file_free(file);
	assert_int_equal(charged(), 0);
}

TEST(opened_without_memory)
{
	struct tsv_file *file = NULL;
	tsv_file_free(open_table(LISTING_FUNCTIONS));
	for (long n = 0; !file; n++) {
		allowed = n;
		file = tsv_file_new(&t.a.answers, USER, t.rev, handle_get(t.handle), LISTING_FUNCTIONS);
		allowed = -1;
		assert_int_equal(atomic_load(&t.handle->refs), file ? 2 : 1);
		assert_true(n < 100);
	}
	expect_bytes(LISTING_FUNCTIONS, file, 0, 1000);
	tsv_file_free(file);
}

/* What could not be rendered is not taken for a piece at the next read. */
TEST(half_of_a_piece)
{
	struct tsv_file *file = open_table(LISTING_FUNCTIONS);
	expect_bytes(LISTING_FUNCTIONS, file, 0, 100);
	render_err = -ENOMEM;
	assert_int_equal(read_at(file, 2 * TSV_PIECE, 100), -ENOMEM);
	expect_bytes(LISTING_FUNCTIONS, file, 0, 100);
	render_err = -ENOMEM;
	assert_int_equal(read_at(file, 2 * TSV_PIECE, 100), -ENOMEM);
	expect_bytes(LISTING_FUNCTIONS, file, 2 * TSV_PIECE, 100);
	assert_null(t.rev->reason);
	tsv_file_free(file);
}

TEST(read_without_memory)
{
	bool failed = true;
	tsv_file_free(open_table(LISTING_FUNCTIONS));
	for (long n = 0; failed; n++) {
		struct tsv_file *file = open_table(LISTING_FUNCTIONS);
		allowed = n;
		int err = read_at(file, 10, TSV_PIECE);
		failed = end_allocations();
		assert_true(!err || err == -ENOMEM);
		if (!err)
			assert_memory_equal(replied.v, t.whole[LISTING_FUNCTIONS].v + 10, TSV_PIECE);
		expect_bytes(LISTING_FUNCTIONS, file, 0, 2 * TSV_PIECE);
		tsv_file_free(file);
		assert_true(n < 100);
	}
	assert_null(t.rev->reason);
}

EACH_TEST(set_up, tear_down)
