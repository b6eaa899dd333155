/*
 * Calls take turns: one at a time owns the buffer, for a slice of time, while the others are parked. Writes
 * never wait for a turn, since the kernel serialises the writes of an inode, and thereby of all users who
 * have the file open: those that arrive during a turn are deferred until it ends.
 */
#include "fs/answer/stream.h"

#include <errno.h>

#include "fs/answer/answers.h"
#include "fs/call/call.h"
#include "fs/call/runners.h"
#include "fs/sys/slice.h"
#include "gsym/base/invariant.h"

enum {
	TRIM_SECONDS = 30,        /* without a read, until caches are freed */
	DEFERRED_KEPT = 64 << 10, /* bytes allocated for deferred writes that are kept for the next ones */
};

bool stream_is_late(const struct stream *stream)
{
	return slices_are_late(&stream->slices);
}

int stream_init(struct stream *stream, const struct stream_kind *kind, struct answers *answers, uid_t uid)
{
	struct account *account = account_get(&answers->accounts, uid);
	if (!account)
		return -ENOMEM;
	stream->kind = kind;
	stream->answers = answers;
	stream->account = account;
	stream->buf = (struct stream_buf){.account = account};
	mutex_init(&stream->lock, LOCK_STREAM);
	list_init(&stream->link);
	list_init(&stream->waiting);
	return 0;
}

static void charge_deferred(struct stream *stream) REQUIRES(&stream->lock)
{
	account_charge(stream->account, ACCOUNT_FILES,
		       stream->deferred_data.cap + stream->deferred.cap * sizeof(*stream->deferred.v),
		       &stream->charged);
}

static void free_deferred(struct stream *stream) REQUIRES(&stream->lock)
{
	text_deinit(&stream->deferred_data);
	vec_free(&stream->deferred);
}

void stream_free(struct stream *stream)
{
	if (!stream)
		return;
	mutex_lock(&stream->answers->images->lock);
	list_remove(&stream->link);
	mutex_unlock(&stream->answers->images->lock);
	stream_buf_deinit(&stream->buf);
	mutex_lock(&stream->lock);
	invariant(!stream->busy);
	free_deferred(stream);
	charge_deferred(stream);
	mutex_unlock(&stream->lock);
	mutex_destroy(&stream->lock);
	struct account *account = stream->account;
	stream->kind->free(stream);
	account_put(account);
}

/* ---- Turns ---- */

/* False when it is the turn of another call. */
static bool begin_turn(struct stream *stream)
{
	mutex_lock(&stream->lock);
	bool begun = !stream->busy;
	if (begun) {
		stream->busy = true;
		stream->deferred_max = STREAM_INPUT_MAX - stream_buf_input(&stream->buf).size;
	}
	mutex_unlock(&stream->lock);
	return begun;
}

static void apply_deferred(struct stream *stream) REQUIRES(&stream->lock)
{
	const char *at = stream->deferred_data.v;
	for (size_t i = 0; i < stream->deferred.n; i++) {
		const struct stream_write *w = &stream->deferred.v[i];
		if (stream_buf_apply_write(&stream->buf, w->off, w->append, at, w->size))
			stream->failed = -EIO;
		at += w->size;
	}
	invariant(at == stream->deferred_data.v + stream->deferred_data.n);
	stream->deferred.n = 0;
	text_reset(&stream->deferred_data);
	if (stream->deferred_data.cap + stream->deferred.cap * sizeof(*stream->deferred.v) > DEFERRED_KEPT)
		free_deferred(stream);
	charge_deferred(stream);
}

/* With images.lock: resumes the next call that waits for its turn. */
static void pass_turn(void *object)
{
	struct stream *stream = object;
	mutex_assert_held(&stream->answers->images->lock);
	calls_pass_turn(&stream->waiting, pass_turn, stream);
	if (list_empty(&stream->waiting)) {
		list_remove(&stream->link);
		return;
	}
	mutex_lock(&stream->lock);
	stream->contended = true;
	mutex_unlock(&stream->lock);
}

static void end_turn(struct stream *stream)
{
	mutex_lock(&stream->lock);
	invariant(stream->busy);
	if (stream->deferred.n)
		apply_deferred(stream);
	stream->busy = false;
	bool wanted = stream->contended;
	stream->contended = false;
	mutex_unlock(&stream->lock);
	if (!wanted)
		return;
	mutex_lock(&stream->answers->images->lock);
	pass_turn(stream);
	mutex_unlock(&stream->answers->images->lock);
}

/* Notes that a call waits for its turn; false when it need not wait. */
static bool want_turn(struct stream *stream)
{
	mutex_lock(&stream->lock);
	bool busy = stream->busy;
	stream->contended |= busy;
	mutex_unlock(&stream->lock);
	return busy;
}

/* See struct wait. */
static int park(void *object, struct call *call)
{
	struct stream *stream = object;
	mutex_assert_held(&stream->answers->images->lock);
	if (!want_turn(stream))
		return -EAGAIN;
	if (list_empty(&stream->link))
		list_append(&stream->answers->streams, &stream->link);
	list_append(&stream->waiting, &call->link);
	return 0;
}

void streams_wake_all(struct answers *answers, struct list *woken)
{
	mutex_assert_held(&answers->images->lock);
	for (struct list *at; (at = list_take(&answers->streams));)
		calls_wake_all(&LIST_ENTRY(at, struct stream)->waiting, woken);
}

void stream_trim(struct stream *stream)
{
	if (!begin_turn(stream))
		return;
	if (time_now() >= stream->slices.until + TRIM_SECONDS * INT64_C(1000000000)) {
		stream->kind->trim(stream);
		stream_buf_trim(&stream->buf);
	}
	end_turn(stream);
}

/* ---- Writing ---- */

/* Whether the write begins where the last deferred one ended, as most do. */
static bool is_contiguous(const struct stream *stream, uint64_t off, bool append) REQUIRES(&stream->lock)
{
	const struct stream_write *last =
		stream->deferred.n ? &stream->deferred.v[stream->deferred.n - 1] : NULL;
	return last && !append && !last->append && off == last->off + last->size;
}

/* Keeps a write until the turn ends. */
static int defer_write(struct stream *stream, const struct stream_write *w, const void *data)
	REQUIRES(&stream->lock)
{
	if (!w->append && w->off > STREAM_OFFSET_MAX - w->size)
		return -EFBIG;
	if (stream->deferred_data.n + w->size > stream->deferred_max ||
	    !account_has_room(stream->account, ACCOUNT_FILES, w->size) || vec_reserve(&stream->deferred, 1) ||
	    !text_reserve(&stream->deferred_data, w->size)) {
		stream->deferred_data.failed = false;
		return -ENOSPC;
	}
	text_bytes(&stream->deferred_data, data, w->size);
	if (is_contiguous(stream, w->off, w->append))
		stream->deferred.v[stream->deferred.n - 1].size += w->size;
	else
		stream->deferred.v[stream->deferred.n++] = *w;
	charge_deferred(stream);
	return 0;
}

int stream_write(struct stream *stream, uint64_t off, bool append, const void *data, size_t size)
{
	const struct stream_write w = {off, size, append};
	mutex_lock(&stream->lock);
	int err = stream->busy ? defer_write(stream, &w, data)
			       : stream_buf_write(&stream->buf, off, append, data, size);
	mutex_unlock(&stream->lock);
	return err;
}

/* ---- Reading ---- */

static bool has_results(const struct stream *stream, const struct call *call)
{
	return stream_buf_missing(&stream->buf, (uint64_t)call->off, call->size) < call->size;
}

/* Makes results until the read can be filled, no input is left, or the slice has ended. */
static int fill(void *work, struct call *call)
{
	struct stream *stream = work;
	uint64_t off = (uint64_t)call->off;
	size_t lacking;
	int err = 0;
	stream->slices.slow = false;
	while (!err && (lacking = stream_buf_missing(&stream->buf, off, call->size))) {
		if (stream->slices.slow) /* a runner replies with what there is, rather than wait again */
			return call->on_runner && has_results(stream, call) ? 0 : SLICE_USED_UP;
		err = stream_buf_check_memory(&stream->buf);
		if (!err)
			err = stream->kind->answer(stream, call, lacking);
		if (!err)
			stream->slices.slow = stream_is_late(stream);
	}
	if (err == 1)
		stream->slices.slow = false;
	return err > 0 ? 0 : err;
}

/*
 * Makes results for a read like @call, which has its reply, from where that ended: its program and the kernel
 * are busy with the reply meanwhile. What goes wrong is for that read to find.
 */
static void fill_ahead(struct stream *stream, struct call *call)
{
	struct runners *runners = stream->answers->runners;
	uint64_t off = (uint64_t)call->off + call->size;
	size_t lacking;
	if (!stream->kind->is_settled || (!call->on_runner && !runners_hold(runners)))
		return;
	while ((lacking = stream_buf_missing(&stream->buf, off, call->size)) &&
	       stream->kind->is_settled(stream) && !stream_is_late(stream) &&
	       !stream_buf_is_short(&stream->buf) && !stream->kind->answer(stream, call, lacking))
		;
	stream_buf_charge(&stream->buf);
	if (!call->on_runner)
		runners_release(runners);
}

static int read_in_turn(struct stream *stream, struct call *call)
{
	uint64_t off = (uint64_t)call->off;
	int err = stream->failed ? stream->failed : stream_buf_seek(&stream->buf, off);
	if (err)
		return err;
	if (stream_buf_missing(&stream->buf, off, call->size))
		err = call_in_slices(call, &stream->slices, fill, stream);
	else
		slices_begin(&stream->slices, call); /* for fill_ahead() */
	/* A short read now is better than to wait, or to fail, because of input after it. */
	if (err && (call_is_handed_over(call) || !has_results(stream, call)))
		return err;
	struct span data = stream_buf_read(&stream->buf, off, call->size);
	fuse_reply_buf(call->req, (const char *)data.data, data.size);
	if (data.size == call->size)
		fill_ahead(stream, call);
	return 0;
}

int stream_read(struct stream *stream, struct call *call)
{
	if (call->off < 0 || call->off > INT64_MAX - (off_t)call->size)
		return -EINVAL;
	call->outlives_failure = true;
	if (!begin_turn(stream)) {
		call->wait = (struct wait){.park = park, .object = stream};
		return -EAGAIN;
	}
	int err = read_in_turn(stream, call);
	end_turn(stream);
	return err;
}
