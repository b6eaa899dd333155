#include "stream.h"

#include <errno.h>

void stream_init(struct stream *stream, const struct stream_kind *kind, atomic_size_t *total)
{
	stream->kind = kind;
	stream->tape = (struct tape){.total = total};
	pthread_mutex_init(&stream->lock, NULL);
}

void stream_free(struct stream *stream)
{
	if (!stream)
		return;
	tape_deinit(&stream->tape);
	pthread_mutex_destroy(&stream->lock);
	stream->kind->free(stream);
}

int stream_write(struct stream *stream, uint64_t off, bool append, const void *data, size_t size)
{
	pthread_mutex_lock(&stream->lock);
	int err = tape_write(&stream->tape, off, append, data, size);
	pthread_mutex_unlock(&stream->lock);
	return err;
}

/* Makes results until the read can be filled or nothing is left to be answered. */
static int fill(struct stream *stream, struct call *call)
{
	uint64_t off = (uint64_t)call->off;
	size_t lacking;
	int err = tape_seek(&stream->tape, off);
	while (!err && (lacking = tape_lacks(&stream->tape, off, call->size))) {
		err = tape_make(&stream->tape);
		if (!err)
			err = stream->kind->answer(stream, call, lacking);
	}
	return err > 0 ? 0 : err;
}

static int read_locked(struct stream *stream, struct call *call)
{
	int err = fill(stream, call);
	/* What there is comes first: a reader must not wait for, or fail with, what comes after it. */
	bool some = tape_lacks(&stream->tape, (uint64_t)call->off, call->size) < call->size;
	if (err && (err == -ESPIPE || !some))
		return err;
	struct span data = tape_read(&stream->tape, (uint64_t)call->off, call->size);
	fuse_reply_buf(call->req, (const char *)data.data, data.size);
	return 0;
}

int stream_read(struct stream *stream, struct call *call)
{
	if (call->off < 0 || call->off > INT64_MAX - (off_t)call->size)
		return -EINVAL;
	call->outlives_failure = true;
	pthread_mutex_lock(&stream->lock);
	int err = read_locked(stream, call);
	pthread_mutex_unlock(&stream->lock);
	return err;
}
