/*
 * stream.h - an open file that is written and then read: a buf, and what turns what was written into
 * answers.
 */
#ifndef FS_ANSWER_STREAM_H
#define FS_ANSWER_STREAM_H

#include "convert/os/mutex.h"

#include "fs/answer/stream_buf.h"
#include "gsym/base/list.h"

struct answers;
struct call;
struct stream;

struct stream_kind {
	/*
	 * Answers some of the input, so that stream->buf has more results, or less input: about @enough
	 * bytes of results if input allows, until stream_is_late(). 0; 1 when there is no input left that
	 * could be answered; -EAGAIN with call->wait filled; another errno for the reader. No other call uses
	 * the stream meanwhile.
	 */
	int (*answer)(struct stream *stream, struct call *call, size_t enough);
	/* Gives back what is only there to be faster, since nobody reads now. */
	void (*rest)(struct stream *stream);
	void (*free)(struct stream *stream);
};

/* What was written while a call used the buf. */
struct stream_write {
	uint64_t off;
	size_t size;
	bool append;
};

/* Embedded at the front of what a kind needs. */
struct stream {
	const struct stream_kind *kind;
	struct answers *answers;
	struct account *account; /* of whoever opened it */
	struct stream_buf buf;   /* of the call that uses it, else guarded by lock */
	int64_t until;           /* when that call should end; CLOCK_MONOTONIC in ns */
	bool slow;               /* the last answers took longer than a FUSE thread may be held */

	struct mutex lock;               /* innermost; guards what follows up to @room, and the buf */
	bool used;                       /* by a call */
	bool wanted;                     /* by others that wait */
	int failed;                      /* a write that was taken could not be kept: errno for readers */
	VEC(struct stream_write) writes; /* that were taken while it was used, and have their bytes in */
	struct text_buf written;
	size_t charged; /* of these, in the account */
	size_t room;    /* for them */

	struct list link;    /* in answers.streams; guarded by images.lock, as are */
	struct list waiting; /* the calls that want to use it next */
};

/* Charges @uid for what it will hold: 0 or -ENOMEM. */
int stream_init(struct stream *stream, const struct stream_kind *kind, struct answers *answers, uid_t uid);

/* NULL is allowed. */
void stream_free(struct stream *stream);

/* Takes @size bytes at @off: 0 or what stream_buf_write() says. Never waits. */
int stream_write(struct stream *stream, uint64_t off, bool append, const void *data, size_t size);

/* Answers a READ, as call->attempt does. */
int stream_read(struct stream *stream, struct call *call);

/* Whether the call that uses it should end, from any thread. */
bool stream_is_late(const struct stream *stream);

/* Gives back what a stream holds to be faster, unless it was used lately. */
void stream_trim(struct stream *stream);

/* With images.lock: moves all calls that wait for their turn with any stream to @woken. */
void streams_wake_all(struct answers *answers, struct list *woken);

#endif
