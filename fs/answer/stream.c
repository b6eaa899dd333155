/*
 * One call at a time uses the buf, for a slice of time; others wait for their turn without a thread. Writes
 * never wait: the kernel lets nobody else write to the file, whoever opened it, until one is answered.
 */
#include "fs/answer/stream.h"

#include <errno.h>

#include "fs/answer/answers.h"
#include "fs/call/call.h"
#include "fs/call/runners.h"
#include "fs/sys/slice.h"

enum {
	REST_SECONDS = 30,      /* without a question, until what made answers faster is given back */
	WRITES_KEPT = 64 << 10, /* bytes of memory for writes that may stay for the next ones */
};

bool stream_is_late(const struct stream *stream)
{
	return time_now() >= stream->until;
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

static void count_writes(struct stream *stream)
{
	account_charge(stream->account, ACCOUNT_FILES,
		       stream->written.cap + stream->writes.cap * sizeof(*stream->writes.v),
		       &stream->charged);
}

static void drop_writes(struct stream *stream)
{
	text_deinit(&stream->written);
	vec_free(&stream->writes);
}

void stream_free(struct stream *stream)
{
	if (!stream)
		return;
	mutex_lock(&stream->answers->images->lock);
	list_remove(&stream->link);
	mutex_unlock(&stream->answers->images->lock);
	stream_buf_deinit(&stream->buf);
	drop_writes(stream);
	count_writes(stream);
	mutex_destroy(&stream->lock);
	struct account *account = stream->account;
	stream->kind->free(stream);
	account_put(account);
}

/* ---- Whose turn it is ---- */

static bool begin(struct stream *stream)
{
	mutex_lock(&stream->lock);
	bool begun = !stream->used;
	if (begun) {
		stream->used = true;
		stream->room = STREAM_INPUT_MAX - stream_buf_input(&stream->buf).size;
	}
	mutex_unlock(&stream->lock);
	return begun;
}

/* With the lock. */
static void take_writes(struct stream *stream)
{
	const char *at = stream->written.v;
	for (size_t i = 0; i < stream->writes.n; i++) {
		const struct stream_write *w = &stream->writes.v[i];
		if (stream_buf_apply_write(&stream->buf, w->off, w->append, at, w->size))
			stream->failed = -EIO;
		at += w->size;
	}
	stream->writes.n = 0;
	text_reset(&stream->written);
	if (stream->written.cap + stream->writes.cap * sizeof(*stream->writes.v) > WRITES_KEPT)
		drop_writes(stream);
	count_writes(stream);
}

/* With images.lock: the next call that waits for the stream goes on. */
static void pass_turn(void *object)
{
	struct stream *stream = object;
	calls_pass_turn(&stream->waiting, pass_turn, stream);
	if (list_empty(&stream->waiting)) {
		list_remove(&stream->link);
		return;
	}
	mutex_lock(&stream->lock);
	stream->wanted = true;
	mutex_unlock(&stream->lock);
}

static void end(struct stream *stream)
{
	mutex_lock(&stream->lock);
	if (stream->writes.n)
		take_writes(stream);
	stream->used = false;
	bool wanted = stream->wanted;
	stream->wanted = false;
	mutex_unlock(&stream->lock);
	if (!wanted)
		return;
	mutex_lock(&stream->answers->images->lock);
	pass_turn(stream);
	mutex_unlock(&stream->answers->images->lock);
}

/* Notes that a call waits until nobody uses it; false when nobody does. */
static bool want_turn(struct stream *stream)
{
	mutex_lock(&stream->lock);
	bool used = stream->used;
	stream->wanted |= used;
	mutex_unlock(&stream->lock);
	return used;
}

/* See struct wait. */
static int park(void *object, struct call *call)
{
	struct stream *stream = object;
	if (!want_turn(stream))
		return -EAGAIN;
	if (list_empty(&stream->link))
		list_append(&stream->answers->streams, &stream->link);
	list_append(&stream->waiting, &call->link);
	return 0;
}

void streams_wake_all(struct answers *answers, struct list *woken)
{
	for (struct list *at; (at = list_take(&answers->streams));)
		calls_wake_all(&LIST_ENTRY(at, struct stream)->waiting, woken);
}

void stream_trim(struct stream *stream)
{
	if (!begin(stream))
		return;
	if (time_now() >= stream->until + REST_SECONDS * INT64_C(1000000000)) {
		stream->kind->rest(stream);
		stream_buf_charge(&stream->buf);
	}
	end(stream);
}

/* ---- Writing ---- */

/* Whether the write goes on where the last one ended, as most do. */
static bool goes_on(const struct stream *stream, uint64_t off, bool append)
{
	const struct stream_write *last = stream->writes.n ? &stream->writes.v[stream->writes.n - 1] : NULL;
	return last && !append && !last->append && off == last->off + last->size;
}

/* Keeps a write for the end of the call that uses the buf. */
static int keep_write(struct stream *stream, const struct stream_write *w, const void *data)
{
	if (!w->append && w->off > STREAM_OFFSET_MAX - w->size)
		return -EFBIG;
	if (stream->written.n + w->size > stream->room ||
	    !account_has_room(stream->account, ACCOUNT_FILES, w->size) || vec_reserve(&stream->writes, 1) ||
	    !text_reserve(&stream->written, w->size)) {
		stream->written.failed = false;
		return -ENOSPC;
	}
	text_bytes(&stream->written, data, w->size);
	if (goes_on(stream, w->off, w->append))
		stream->writes.v[stream->writes.n - 1].size += w->size;
	else
		stream->writes.v[stream->writes.n++] = *w;
	count_writes(stream);
	return 0;
}

int stream_write(struct stream *stream, uint64_t off, bool append, const void *data, size_t size)
{
	const struct stream_write w = {off, size, append};
	mutex_lock(&stream->lock);
	int err = stream->used ? keep_write(stream, &w, data)
			       : stream_buf_write(&stream->buf, off, append, data, size);
	mutex_unlock(&stream->lock);
	return err;
}

/* ---- Reading ---- */

/* Makes results until the read can be filled, nothing is left to be answered, or it is late. */
static int fill(struct stream *stream, struct call *call)
{
	uint64_t off = (uint64_t)call->off;
	size_t lacking;
	int err = 0;
	stream->slow = false;
	while (!err && (lacking = stream_buf_missing(&stream->buf, off, call->size)) && !stream->slow) {
		err = stream_buf_check_memory(&stream->buf);
		if (!err)
			err = stream->kind->answer(stream, call, lacking);
		if (!err)
			stream->slow = stream_is_late(stream);
	}
	if (err == 1)
		stream->slow = false;
	return err > 0 ? 0 : err;
}

static bool has_some(const struct stream *stream, const struct call *call)
{
	return stream_buf_missing(&stream->buf, (uint64_t)call->off, call->size) < call->size;
}

/* Makes results for as long as this thread may: 0, or as fill(), or -EAGAIN for another one to go on. */
static int fill_in_time(struct stream *stream, struct call *call)
{
	struct runners *runners = stream->answers->runners;
	bool patient = call->on_runner;
	if (!patient && (stream->slow || !runners_hold(runners)))
		return call_hand_over(call);
	stream->until = time_after(patient ? WORK_SLICE_MS : FUSE_SLICE_MS);
	int err = fill(stream, call);
	if (!patient)
		runners_release(runners);
	bool lacks = stream_buf_missing(&stream->buf, (uint64_t)call->off, call->size);
	return !err && stream->slow && lacks && !(patient && has_some(stream, call)) ? call_hand_over(call)
										     : err;
}

static int read_used(struct stream *stream, struct call *call)
{
	uint64_t off = (uint64_t)call->off;
	int err = stream->failed ? stream->failed : stream_buf_seek(&stream->buf, off);
	if (err)
		return err;
	if (stream_buf_missing(&stream->buf, off, call->size))
		err = fill_in_time(stream, call);
	/* What there is comes first: a reader must not wait for, or fail with, what comes after it. */
	if (err && (call_is_handed_over(call) || !has_some(stream, call)))
		return err;
	struct span data = stream_buf_read(&stream->buf, off, call->size);
	fuse_reply_buf(call->req, (const char *)data.data, data.size);
	return 0;
}

int stream_read(struct stream *stream, struct call *call)
{
	if (call->off < 0 || call->off > INT64_MAX - (off_t)call->size)
		return -EINVAL;
	call->outlives_failure = true;
	if (!begin(stream)) {
		call->wait = (struct wait){.park = park, .object = stream};
		return -EAGAIN;
	}
	int err = read_used(stream, call);
	end(stream);
	return err;
}
