/*
 * stream.h - an open file that is written and then read: buffers, and the kind of file that turns input into
 * results.
 */
#ifndef FS_ANSWER_STREAM_H
#define FS_ANSWER_STREAM_H

#include "work/os/mutex.h"

#include "fs/answer/stream_buf.h"
#include "fs/call/slices.h"
#include "gsym/base/list.h"

struct answers;
struct call;
struct stream;

struct stream_kind {
	/*
	 * Consumes input or appends results, about @enough bytes if there is input for them, until
	 * stream_is_late(). Returns 0; 1 when no pending input can be answered; -EAGAIN with call->wait
	 * filled; another errno for the reader. No other call uses the stream meanwhile.
	 */
	int (*answer)(struct stream *stream, struct call *call, size_t enough);
	/*
	 * Whether pending input is answered the same now as after more is written: then results are made
	 * before they are asked for, with a @call that has its reply. NULL: never.
	 */
	bool (*is_settled)(const struct stream *stream);
	/* Frees caches of a stream that is idle. */
	void (*trim)(struct stream *stream);
	void (*free)(struct stream *stream);
};

/* A write that arrived while a call was using the buffer. */
struct stream_write {
	uint64_t off;
	size_t size;
	bool append;
};

/*
 * The first member of each kind's own struct. The call whose turn it is (busy) owns the buffer and the
 * members after it; while there is none, they are guarded by the lock.
 */
struct stream {
	const struct stream_kind *kind;
	struct answers *answers;
	struct account *account; /* of the user who opened it */

	struct stream_buf buf;
	struct slices slices; /* of the turn */
	int failed;           /* a deferred write was lost, out of memory: errno for readers */

	struct mutex lock;                /* guards whose turn it is, and what is written meanwhile */
	bool busy GUARDED_BY(&lock);      /* it is a call's turn */
	bool contended GUARDED_BY(&lock); /* other calls wait for their turn */
	VEC(struct stream_write) deferred GUARDED_BY(&lock); /* applied when the turn ends */
	struct text_buf deferred_data GUARDED_BY(&lock);     /* their bytes, in order */
	size_t charged GUARDED_BY(&lock);                    /* for deferred writes */
	size_t deferred_max GUARDED_BY(&lock);               /* bytes of them that the buffer can take */

	/* Guarded by images.lock. */
	struct list link;    /* in answers.streams while calls wait */
	struct list waiting; /* calls parked until it is their turn */
};

/* Charges are to @uid. 0 or -ENOMEM. */
int stream_init(struct stream *stream, const struct stream_kind *kind, struct answers *answers, uid_t uid);

/* NULL is allowed. */
void stream_free(struct stream *stream);

/*
 * Takes a write. Never waits.
 * @off: in the file, bytes; ignored with @append (O_APPEND)
 * @data, @size: what is written
 * 0, -ENOSPC or -EFBIG as stream_buf_write().
 */
int stream_write(struct stream *stream, uint64_t off, bool append, const void *data, size_t size);

/* Answers a READ, as call->attempt does. */
int stream_read(struct stream *stream, struct call *call);

/* Whether the slice of the call whose turn it is has ended; any thread may ask. */
bool stream_is_late(const struct stream *stream);

/* Frees the stream's caches unless it was read in the last 30 seconds. */
void stream_trim(struct stream *stream);

/* With images.lock: moves all calls that wait for their turn, at any stream, to @woken. */
void streams_wake_all(struct answers *answers, struct list *woken);

#endif
