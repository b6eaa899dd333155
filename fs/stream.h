/*
 * stream.h - an open file that is written and then read: a tape, and what turns what was written into answers.
 */
#ifndef FS_STREAM_H
#define FS_STREAM_H

#include <pthread.h>

#include "call.h"
#include "tape.h"

struct stream;

struct stream_kind {
	/*
	 * Answers some of the input, so that stream->tape has more results, or less input: about @enough bytes of results
	 * if input allows. 0; 1 when there is no input left that could be answered; -EAGAIN with call->wait filled; another
	 * errno for the reader. With stream->lock.
	 */
	int (*answer)(struct stream *stream, struct call *call, size_t enough);
	void (*free)(struct stream *stream);
};

/* Embedded at the front of what a kind needs. */
struct stream {
	const struct stream_kind *kind;
	pthread_mutex_t lock; /* outside of images.lock */
	struct tape tape;
};

void stream_init(struct stream *stream, const struct stream_kind *kind, atomic_size_t *total);

/* NULL is allowed. */
void stream_free(struct stream *stream);

/* Takes @size bytes at @off: 0 or -ENOSPC. */
int stream_write(struct stream *stream, uint64_t off, bool append, const void *data, size_t size);

/* Answers a READ, as call->attempt does. */
int stream_read(struct stream *stream, struct call *call);

#endif
