/*
 * tape.h - a file that is written and then read through one descriptor, as on a tape: answers begin where the
 * last write ended.
 *
 * Pure: bytes and offsets. What turns input into results is somebody else's (stream.h). Results stay until
 * the next write, so that programs may read ahead and go back: the shared position of the descriptor says how
 * much of them was really taken. A write drops what was taken before it; one at the beginning, all that was
 * read.
 */
#ifndef FS_ANSWER_TAPE_H
#define FS_ANSWER_TAPE_H

#include "gsym/base/text_buf.h"
#include "fs/answer/account.h"

enum {
	TAPE_INPUT_MAX = 64 << 20, /* bytes written and not answered, of one descriptor */
	TAPE_KEPT_MAX = 4 << 20,   /* bytes of results that were read and are kept; more would not stay in the
				      processor's cache */
	TAPE_KEPT = 1 << 20,       /* the latest of them: they stay when the others go */
	TAPE_KEPT_MIN =
		256 << 10, /* the same when their user is short of memory: as far as programs read ahead */
	TAPE_AHEAD_MAX = 64 << 20, /* bytes of results that a read may leave out */
};

/* Where programs may be: far enough from the end for the file to grow, which all who have it open see. */
#define TAPE_OFFSET_MAX (INT64_MAX / 2)

/* Zero-initialised is empty. */
struct tape {
	uint64_t base;           /* offset at which results begin */
	uint64_t dropped;        /* bytes at their beginning that are no longer kept */
	uint64_t reached;        /* bytes of results that have been read */
	struct text_buf results; /* appended to by who makes them */
	size_t results_used;     /* bytes at their front that were dropped and are still there */
	struct text_buf input;
	size_t input_used;       /* bytes at the front of input that are answered */
	struct account *account; /* whose memory it is; borrowed, may be NULL */
	size_t counted;          /* of this one, in it */
	size_t beside;           /* memory of who makes the results, to be counted with it */
};

void tape_deinit(struct tape *tape);

/*
 * @size bytes were written at @off; with @append the offset says nothing, and what was read counts as taken.
 * 0; -ENOSPC, or -EFBIG for an offset that is none, and nothing was written.
 */
int tape_write(struct tape *tape, uint64_t off, bool append, const void *data, size_t size);

/* The two halves of it: whether there is room, with @waiting bytes that will be written first; and writing,
 * which fails without memory only. */
int tape_check_write(const struct tape *tape, uint64_t off, bool append, size_t waiting, size_t size);
int tape_take_write(struct tape *tape, uint64_t off, bool append, const void *data, size_t size);

/* Input that is not answered yet. */
static inline struct span tape_input(const struct tape *tape)
{
	struct span all = text_span(&tape->input);
	return all.size ? (struct span){all.data + tape->input_used, all.size - tape->input_used} : all;
}

/* @size more bytes of it are answered. */
void tape_answered(struct tape *tape, size_t size);

/*
 * A read at @off comes: going back past the first result begins again with it. 0, or -ESPIPE for what is no
 * longer kept, and for what lies so far ahead that more results than are kept would have to be made and never
 * read.
 */
int tape_seek(struct tape *tape, uint64_t off);

/* Results are to be made: counts those there are. 0, or -ENOMEM when their user has far too many. */
int tape_make(struct tape *tape);

/* Counts what it holds now. */
void tape_count(struct tape *tape);

/* Whether the user has so much memory that nothing should be made ahead. */
bool tape_is_short(const struct tape *tape);

/* How many bytes of results are missing to fill a read of @size bytes at @off. */
size_t tape_lacks(const struct tape *tape, uint64_t off, size_t size);

/* What there is for it, until the next call; empty at the end. */
struct span tape_read(struct tape *tape, uint64_t off, size_t size);

#endif
