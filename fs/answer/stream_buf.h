/*
 * stream_buf.h - buffers and offsets of a file that is written and then read through one descriptor.
 *
 * Input and results share one range of offsets: results begin where the last write ended, since the
 * descriptor's position is there. stream.h turns input into results; this module only keeps bytes and
 * offsets.
 *
 * Results stay until the next write, so that programs may read ahead (stdio) and seek back: the position of
 * that write tells how many of them the program consumed. A write drops the results before it; a write at
 * the start drops all that were read.
 */
#ifndef FS_ANSWER_STREAM_BUF_H
#define FS_ANSWER_STREAM_BUF_H

#include "gsym/base/text_buf.h"
#include "fs/answer/account.h"

enum {
	STREAM_INPUT_MAX = 64 << 20, /* bytes of pending input of one descriptor */
	STREAM_KEPT_MAX = 4 << 20,   /* bytes of results kept after they were read; more would not stay in the
					processor's cache */
	STREAM_KEPT = 1 << 20,       /* the latest of them, which stay when STREAM_KEPT_MAX is exceeded */
	STREAM_KEPT_MIN = 256 << 10, /* instead of STREAM_KEPT_MAX under memory pressure: enough for stdio's
					read-ahead */
	STREAM_AHEAD_MAX = 64 << 20, /* bytes of results that a read may skip */
};

/* Limit of offsets: far enough from the maximum that the size of the file can still grow. */
#define STREAM_OFFSET_MAX (INT64_MAX / 2)

/* Zero-initialised is empty. */
struct stream_buf {
	uint64_t base;           /* offset at which results begin */
	uint64_t dropped;        /* bytes at their beginning that are no longer kept */
	uint64_t read_end;       /* bytes of results that have been read; at most what was made */
	struct text_buf results; /* the client appends here */
	size_t results_stale;    /* bytes at the front of results that were dropped but not yet moved over */
	struct text_buf input;
	size_t input_consumed;   /* bytes at the front of input that have results */
	struct account *account; /* charged; borrowed, may be NULL */
	size_t charged;          /* by this buffer */
	size_t extra;            /* bytes of the client's own memory, charged with the buffer */
};

void stream_buf_deinit(struct stream_buf *buf);

/* Gives back, and no longer charges, what a buffer that is not in use needs not. */
void stream_buf_trim(struct stream_buf *buf);

/*
 * Appends to the input.
 * @off: where it was written, bytes
 * @append: O_APPEND: @off is ignored, and all results that were read are dropped
 * @data, @size: what was written
 * -ENOSPC: input or account is full, or out of memory. -EFBIG: @off is too large. Both without an effect.
 */
int stream_buf_write(struct stream_buf *buf, uint64_t off, bool append, const void *data, size_t size);

/* The same without the checks, for a write that was accepted already; -ENOSPC when out of memory. */
int stream_buf_apply_write(struct stream_buf *buf, uint64_t off, bool append, const void *data, size_t size);

/* Pending input. */
static inline struct span stream_buf_input(const struct stream_buf *buf)
{
	struct span all = text_span(&buf->input);
	return all.size ? (struct span){all.data + buf->input_consumed, all.size - buf->input_consumed} : all;
}

/* Removes @size bytes from the front of the pending input. */
void stream_buf_consume(struct stream_buf *buf, size_t size);

/*
 * Prepares a read at @off; one before the first result moves the results there. -ESPIPE when results at @off
 * were dropped, or when more than STREAM_AHEAD_MAX bytes would have to be made and skipped.
 */
int stream_buf_seek(struct stream_buf *buf, uint64_t off);

/* Before results are made: updates the charge. -ENOMEM when the account is over its limit and grace. */
int stream_buf_check_memory(struct stream_buf *buf);

/* Updates the charge to the memory in use. */
void stream_buf_charge(struct stream_buf *buf);

/* Whether the account is under memory pressure: no results should be made ahead. */
bool stream_buf_is_short(const struct stream_buf *buf);

/* How many bytes of results are missing for a read of @size bytes at @off. */
size_t stream_buf_missing(const struct stream_buf *buf, uint64_t off, size_t size);

/* The bytes for such a read, valid until the next call; shorter, or empty, at the end of the results. */
struct span stream_buf_read(struct stream_buf *buf, uint64_t off, size_t size);

#endif
