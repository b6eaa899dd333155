#include "fs/answer/tape.h"

#include <errno.h>

enum { IDLE_BYTES_MAX = 1 << 20 }; /* memory that an empty buffer may keep */

/* ---- Memory ---- */

void tape_count(struct tape *tape)
{
	if (tape->account)
		account_count(tape->account, ACCOUNT_FILES,
			      tape->results.cap + tape->input.cap + tape->beside, &tape->counted);
}

bool tape_is_short(const struct tape *tape)
{
	return tape->account && account_is_short(tape->account, ACCOUNT_FILES);
}

int tape_make(struct tape *tape)
{
	tape_count(tape);
	return tape->account && account_is_over(tape->account, ACCOUNT_FILES) ? -ENOMEM : 0;
}

static void shrink(struct text_buf *buf)
{
	char *less = realloc(buf->v, buf->n * 2);
	if (!less)
		return;
	buf->v = less;
	buf->cap = buf->n * 2;
}

static void drop_front(struct text_buf *buf, size_t size)
{
	buf->n -= size;
	if (buf->n)
		memmove(buf->v, buf->v + size, buf->n);
	if (buf->n && buf->cap > IDLE_BYTES_MAX && buf->n < buf->cap / 4)
		shrink(buf);
	else if (!buf->n && buf->cap > IDLE_BYTES_MAX)
		text_deinit(buf);
}

/* Results that are kept. */
static size_t kept(const struct tape *tape)
{
	return tape->results.n - tape->results_used;
}

/* Bytes are moved only when more of them go than stay. */
static void drop_results(struct tape *tape, size_t size)
{
	tape->results_used += size;
	if (tape->results_used < tape->results.n - tape->results_used)
		return;
	drop_front(&tape->results, tape->results_used);
	tape->results_used = 0;
}

void tape_deinit(struct tape *tape)
{
	text_deinit(&tape->results);
	text_deinit(&tape->input);
	tape->beside = 0;
	tape_count(tape);
}

/* ---- Writing ---- */

/*
 * Drops what was read, @taken bytes of results. More than there are means that somebody went past the end:
 * then nobody wants the rest.
 */
static void drop_taken(struct tape *tape, uint64_t taken)
{
	uint64_t here = taken > tape->dropped ? taken - tape->dropped : 0;
	if (here <= kept(tape)) {
		drop_results(tape, (size_t)here);
		return;
	}
	drop_results(tape, kept(tape));
	tape_answered(tape, tape_input(tape).size);
}

static int append_input(struct tape *tape, const void *data, size_t size)
{
	if (tape->input_used >= tape->input.n / 2) { /* else the move costs more than it frees */
		drop_front(&tape->input, tape->input_used);
		tape->input_used = 0;
	}
	text_bytes(&tape->input, data, size);
	bool failed = tape->input.failed;
	tape->input.failed = false;
	return failed ? -ENOSPC : 0;
}

int tape_check_write(const struct tape *tape, uint64_t off, bool append, size_t waiting, size_t size)
{
	if (!append && off > TAPE_OFFSET_MAX - size)
		return -EFBIG;
	if (size > TAPE_INPUT_MAX - tape_input(tape).size ||
	    waiting > TAPE_INPUT_MAX - tape_input(tape).size - size)
		return -ENOSPC;
	return tape->account && !account_has_room(tape->account, ACCOUNT_FILES, size) ? -ENOSPC : 0;
}

int tape_take_write(struct tape *tape, uint64_t off, bool append, const void *data, size_t size)
{
	/* Who goes back to the beginning to write again has done with what was read. */
	drop_taken(tape, append || off <= tape->base ? tape->reached : off - tape->base);
	int err = append_input(tape, data, size);
	tape->base = err ? off : off + size;
	tape->dropped = tape->reached = 0;
	tape_count(tape);
	return err;
}

int tape_write(struct tape *tape, uint64_t off, bool append, const void *data, size_t size)
{
	int err = tape_check_write(tape, off, append, 0, size);
	return err ? err : tape_take_write(tape, off, append, data, size);
}

void tape_answered(struct tape *tape, size_t size)
{
	tape->input_used += size;
	if (tape->input_used < tape->input.n)
		return;
	drop_front(&tape->input, tape->input.n);
	tape->input_used = 0;
}

/* ---- Reading ---- */

/* What was read long ago makes room. Several times as much goes as stays and is moved. */
static void forget_oldest(struct tape *tape)
{
	uint64_t read = tape->reached > tape->dropped ? tape->reached - tape->dropped : 0;
	bool is_short = tape_is_short(tape);
	uint64_t most = is_short ? TAPE_KEPT_MIN : TAPE_KEPT_MAX,
		 left = is_short ? TAPE_KEPT_MIN / 2 : TAPE_KEPT;
	if (read <= most || read > kept(tape))
		return;
	drop_results(tape, (size_t)(read - left));
	tape->dropped += read - left;
	tape_count(tape);
}

/* Whether too many results would have to be made and passed over. */
static bool is_too_far(const struct tape *tape, uint64_t off)
{
	return off >= tape->base && tape_input(tape).size && tape_lacks(tape, off, 0) > TAPE_AHEAD_MAX;
}

int tape_seek(struct tape *tape, uint64_t off)
{
	forget_oldest(tape);
	if (off < tape->base && !tape->dropped)
		tape->base = off;
	return off < tape->base || off - tape->base < tape->dropped || is_too_far(tape, off) ? -ESPIPE : 0;
}

/* Where @off is in the results that are kept; past the end it is their end. */
static size_t place(const struct tape *tape, uint64_t off)
{
	uint64_t at = off - tape->base - tape->dropped;
	return at < kept(tape) ? (size_t)at : kept(tape);
}

size_t tape_lacks(const struct tape *tape, uint64_t off, size_t size)
{
	uint64_t end = off - tape->base - tape->dropped + size;
	return end > kept(tape) ? (size_t)(end - kept(tape)) : 0;
}

struct span tape_read(struct tape *tape, uint64_t off, size_t size)
{
	size_t at = place(tape, off), left = kept(tape) - at;
	size_t n = left < size ? left : size;
	if (tape->reached < tape->dropped + at + n)
		tape->reached = tape->dropped + at + n;
	tape_count(tape);
	return (struct span){(const uint8_t *)tape->results.v + (n ? tape->results_used + at : 0), n};
}
