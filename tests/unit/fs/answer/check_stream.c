/* Turns at a file that is written and read: which call waits, who is next, and what is written meanwhile. */
#include "fs/answer/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/answer/answers.h"
#include "fs/call/call.h"
#include "fs/call/runners.h"
#include "tests/lib/unit.h"

enum {
	SECOND = 1000000000,
	TRIM_SECONDS = 30,
	CALLS = 3,
};

/* ---- In place of libfuse ---- */

static char replied[256];
static size_t n_replied, replies;

const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req)
{
	static const struct fuse_ctx context = {.uid = 7};
	(void)req;
	return &context;
}

int __wrap_fuse_reply_buf(fuse_req_t req, const char *data, size_t size)
{
	(void)req;
	assert_true(size < sizeof(replied));
	if (size)
		memcpy(replied, data, size);
	n_replied = size;
	replies++;
	return 0;
}

/* ---- A file that answers each byte with the next one ---- */

struct shifted {
	struct stream stream; /* first */
	void (*meanwhile)(struct shifted *s);
	int err;
	size_t trims;
};

static struct fixture {
	struct images images;
	struct answers answers;
	struct runners runners;
	struct shifted *s;
	struct call calls[CALLS];
} f;

static int answer(struct stream *stream, struct call *call, size_t enough)
{
	struct shifted *s = (struct shifted *)stream;
	struct span input = stream_buf_input(&stream->buf);
	(void)call;
	(void)enough;
	if (s->meanwhile) {
		void (*meanwhile)(struct shifted * s) = s->meanwhile;
		s->meanwhile = NULL;
		meanwhile(s);
	}
	if (s->err)
		return s->err;
	if (!input.size)
		return 1;
	for (size_t i = 0; i < input.size; i++)
		text_char(&stream->buf.results, (char)(input.data[i] + 1));
	stream_buf_consume(&stream->buf, input.size);
	return 0;
}

static void trim(struct stream *stream)
{
	((struct shifted *)stream)->trims++;
}

static void free_shifted(struct stream *stream)
{
	free(stream);
}

static const struct stream_kind kind = {.answer = answer, .trim = trim, .free = free_shifted};

static int set_up(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	mutex_init(&f.images.lock, LOCK_IMAGES);
	runners_init(&f.runners, &f.images.lock, &call_runner_kind, NULL);
	accounts_init(&f.answers.accounts);
	f.answers.images = &f.images;
	f.answers.runners = &f.runners;
	list_init(&f.answers.streams);
	f.s = calloc(1, sizeof(*f.s));
	for (size_t i = 0; i < CALLS; i++)
		f.calls[i] = (struct call){.runners = &f.runners, .size = 100, .on_runner = true};
	return stream_init(&f.s->stream, &kind, &f.answers, 7);
}

static int tear_down(void **state)
{
	(void)state;
	stream_free(&f.s->stream);
	assert_int_equal(atomic_load(&f.answers.accounts.charged[ACCOUNT_FILES]), 0);
	accounts_deinit(&f.answers.accounts);
	runners_deinit(&f.runners);
	mutex_destroy(&f.images.lock);
	return 0;
}

static int write_at(uint64_t off, const char *text)
{
	return stream_write(&f.s->stream, off, false, text, strlen(text));
}

static void expect_read(uint64_t off, const char *text)
{
	size_t before = replies;
	f.calls[0].off = (off_t)off;
	assert_int_equal(stream_read(&f.s->stream, &f.calls[0]), 0);
	assert_int_equal(replies, before + 1);
	assert_int_equal(n_replied, strlen(text));
	assert_memory_equal(replied, text, n_replied);
}

static size_t waiting(void)
{
	return list_count(&f.s->stream.waiting);
}

/* ---- Tests ---- */

TEST(written_and_read)
{
	assert_int_equal(write_at(0, "abc"), 0);
	expect_read(3, "bcd");
	expect_read(6, "");
	assert_int_equal(write_at(6, "x"), 0);
	expect_read(7, "y");
	f.s->err = -EIO;
	f.calls[0].off = 8;
	assert_int_equal(stream_read(&f.s->stream, &f.calls[0]), -EIO);
	assert_true(f.calls[0].outlives_failure);
	f.s->err = 0;
	expect_read(8, "");
}

TEST(offsets)
{
	struct call *call = &f.calls[0];
	call->off = -1;
	assert_int_equal(stream_read(&f.s->stream, call), -EINVAL);
	call->off = INT64_MAX - (off_t)call->size + 1;
	assert_int_equal(stream_read(&f.s->stream, call), -EINVAL);
	call->off--;
	assert_int_not_equal(stream_read(&f.s->stream, call), -EINVAL);
	assert_int_equal(write_at(STREAM_OFFSET_MAX, "a"), -EFBIG);
	assert_int_equal(write_at(STREAM_OFFSET_MAX - 1, "ab"), -EFBIG);
	assert_int_equal(write_at(STREAM_OFFSET_MAX - 1, "a"), 0);
}

/* Has a call wait for its turn. */
static void park(struct call *call, int err)
{
	assert_int_equal(stream_read(&f.s->stream, call), -EAGAIN);
	mutex_lock(&f.images.lock);
	assert_int_equal(call->wait.park(call->wait.object, call), err);
	mutex_unlock(&f.images.lock);
	call->state = CALL_PARKED;
}

static void two_more_calls(struct shifted *s)
{
	(void)s;
	park(&f.calls[1], 0);
	assert_int_equal(list_count(&f.answers.streams), 1);
	park(&f.calls[2], 0);
	assert_int_equal(waiting(), 2);
	assert_int_equal(list_count(&f.answers.streams), 1);
	assert_false(user_queues_any(&f.runners.waiting));
}

/* The first of those that wait is next; the other is when that has had its turn, or was interrupted. */
TEST(one_at_a_time)
{
	for (int interrupted = 0; interrupted < 2; interrupted++) {
		f.s->meanwhile = two_more_calls;
		assert_int_equal(write_at(0, "a"), 0);
		expect_read(1, "b");
		mutex_lock(&f.images.lock);
		assert_ptr_equal(user_queues_take(&f.runners.waiting), &f.calls[1].link);
		assert_null(user_queues_take(&f.runners.waiting));
		mutex_unlock(&f.images.lock);
		assert_int_equal(waiting(), 1);
		assert_int_equal(list_count(&f.answers.streams), 1);
		if (interrupted) {
			mutex_lock(&f.images.lock);
			f.calls[1].pass_turn(f.calls[1].turn);
			mutex_unlock(&f.images.lock);
		} else {
			f.calls[1].off = 1;
			assert_int_equal(stream_read(&f.s->stream, &f.calls[1]), 0);
		}
		mutex_lock(&f.images.lock);
		assert_ptr_equal(user_queues_take(&f.runners.waiting), &f.calls[2].link);
		mutex_unlock(&f.images.lock);
		assert_int_equal(waiting(), 0);
		assert_true(list_empty(&f.answers.streams));
		expect_read(1, "b"); /* the turn of no one */
		assert_false(user_queues_any(&f.runners.waiting));
	}
}

static struct wait kept;

static void keep_wait(struct shifted *s)
{
	(void)s;
	assert_int_equal(stream_read(&s->stream, &f.calls[1]), -EAGAIN);
	kept = f.calls[1].wait;
}

/* The turn has ended before the call is parked: there is nothing to wait for. */
TEST(too_late_to_wait)
{
	f.s->meanwhile = keep_wait;
	assert_int_equal(write_at(0, "a"), 0);
	expect_read(1, "b");
	mutex_lock(&f.images.lock);
	assert_int_equal(kept.park(kept.object, &f.calls[1]), -EAGAIN);
	mutex_unlock(&f.images.lock);
	assert_int_equal(waiting(), 0);
	assert_true(list_empty(&f.answers.streams));
}

static void wake_them(struct shifted *s)
{
	struct list woken;
	two_more_calls(s);
	list_init(&woken);
	mutex_lock(&f.images.lock);
	streams_wake_all(&f.answers, &woken);
	mutex_unlock(&f.images.lock);
	assert_int_equal(list_count(&woken), 2);
	assert_int_equal(waiting(), 0);
	assert_true(list_empty(&f.answers.streams));
	while (list_take(&woken))
		;
}

TEST(woken_at_the_end)
{
	f.s->meanwhile = wake_them;
	assert_int_equal(write_at(0, "a"), 0);
	expect_read(1, "b");
	assert_false(user_queues_any(&f.runners.waiting));
}

/* Of the bytes that the buffer can take, 3 are used at the begin of the turn. */
static void write_more(struct shifted *s)
{
	static char large[STREAM_INPUT_MAX];
	size_t room = STREAM_INPUT_MAX - 3;
	mutex_lock(&s->stream.lock);
	assert_int_equal(s->stream.deferred_max, room);
	mutex_unlock(&s->stream.lock);
	assert_int_equal(write_at(6, "d"), 0);
	assert_int_equal(write_at(7, "ef"), 0);
	assert_int_equal(write_at(STREAM_OFFSET_MAX - 1, "xy"), -EFBIG);
	assert_int_equal(write_at(STREAM_OFFSET_MAX, "x"), -EFBIG);
	assert_int_equal(stream_write(&s->stream, 9, false, large, room - 2), -ENOSPC);
	mutex_lock(&s->stream.lock);
	assert_int_equal(s->stream.deferred.n, 1); /* one after the other */
	assert_int_equal(s->stream.deferred_data.n, 3);
	mutex_unlock(&s->stream.lock);
}

TEST(deferred)
{
	assert_int_equal(write_at(0, "abc"), 0);
	f.s->meanwhile = write_more;
	expect_read(3, "bcd");
	mutex_lock(&f.s->stream.lock);
	assert_int_equal(f.s->stream.deferred.n, 0);
	mutex_unlock(&f.s->stream.lock);
	expect_read(9, "efg");
}

static void write_apart(struct shifted *s)
{
	assert_int_equal(stream_write(&s->stream, 1, true, "x", 1), 0);
	assert_int_equal(stream_write(&s->stream, 2, true, "y", 1), 0);
	assert_int_equal(write_at(3, "z"), 0);
	assert_int_equal(write_at(4, "wv"), 0);
	mutex_lock(&s->stream.lock);
	assert_int_equal(s->stream.deferred.n, 3); /* what is appended is one by itself */
	mutex_unlock(&s->stream.lock);
	assert_int_equal(write_at(7, "u"), 0);
	assert_int_equal(stream_write(&s->stream, UINT64_MAX, true, "", 0), 0); /* its offset is none */
	assert_int_equal(write_at(STREAM_OFFSET_MAX - 1, "t"), 0);
	mutex_lock(&s->stream.lock);
	assert_int_equal(s->stream.deferred.n, 6);
	s->stream.deferred.n = 3; /* without those that skip input */
	s->stream.deferred_data.n = 5;
	mutex_unlock(&s->stream.lock);
}

TEST(deferred_apart)
{
	assert_int_equal(write_at(0, "a"), 0);
	f.s->meanwhile = write_apart;
	expect_read(1, "b");
	expect_read(6, "yz{xw");
}

static void trim_now(struct shifted *s)
{
	s->stream.slices.until -= (TRIM_SECONDS + 1) * (int64_t)SECOND;
	stream_trim(&s->stream); /* it is in use */
	assert_int_equal(s->trims, 0);
}

TEST(trimmed_when_idle)
{
	assert_int_equal(write_at(0, "a"), 0);
	f.s->meanwhile = trim_now;
	expect_read(1, "b");
	expect_read(1, "b");
	stream_trim(&f.s->stream);
	assert_int_equal(f.s->trims, 0);
	f.s->stream.slices.until -= (TRIM_SECONDS + 1) * (int64_t)SECOND;
	stream_trim(&f.s->stream);
	assert_int_equal(f.s->trims, 1);
	expect_read(1, "b");
	f.s->stream.slices.until = INT64_MAX;
	assert_false(stream_is_late(&f.s->stream));
	f.s->stream.slices.until = 0;
	assert_true(stream_is_late(&f.s->stream));
}

EACH_TEST(set_up, tear_down)
