/*
 * Both buffers are text_bufs from whose front bytes are dropped. The rest is moved only when less stays than
 * goes, so that the cost per byte is constant.
 */
#include "fs/answer/stream_buf.h"

#include <errno.h>

#include "gsym/base/invariant.h"

/* Bytes allocated for an empty buffer that are kept. */
enum {
	BUSY_BYTES_MAX = 8 << 20, /* for what comes next: pages that were given back must be cleared anew */
	IDLE_BYTES_MAX = 1 << 20, /* when it is not in use, or memory is short */
};

/* ---- Memory ---- */

void stream_buf_charge(struct stream_buf *buf)
{
	if (buf->account)
		account_charge(buf->account, ACCOUNT_FILES, buf->results.cap + buf->input.cap + buf->extra,
			       &buf->charged);
}

bool stream_buf_is_short(const struct stream_buf *buf)
{
	return buf->account && account_is_short(buf->account, ACCOUNT_FILES);
}

int stream_buf_check_memory(struct stream_buf *buf)
{
	stream_buf_charge(buf);
	return buf->account && account_is_over(buf->account, ACCOUNT_FILES) ? -ENOMEM : 0;
}

static void shrink(struct text_buf *buf)
{
	char *less = realloc(buf->v, buf->n * 2);
	if (!less)
		return;
	buf->v = less;
	buf->cap = buf->n * 2;
}

/* Gives memory back that is more than @most bytes and much more than what is in it. */
static void give_back(struct text_buf *buf, size_t most)
{
	if (buf->n && buf->cap > most && buf->n < buf->cap / 4)
		shrink(buf);
	else if (!buf->n && buf->cap > most)
		text_deinit(buf);
}

static void drop_front(const struct stream_buf *owner, struct text_buf *buf, size_t size)
{
	buf->n -= size;
	if (buf->n)
		memmove(buf->v, buf->v + size, buf->n);
	give_back(buf, stream_buf_is_short(owner) ? IDLE_BYTES_MAX : BUSY_BYTES_MAX);
}

void stream_buf_trim(struct stream_buf *buf)
{
	give_back(&buf->results, IDLE_BYTES_MAX);
	give_back(&buf->input, IDLE_BYTES_MAX);
	stream_buf_charge(buf);
}

/* Bytes of results that are kept. */
static size_t kept(const struct stream_buf *buf)
{
	return buf->results.n - buf->results_stale;
}

static void check_offsets(const struct stream_buf *buf)
{
	invariant(buf->input_consumed <= buf->input.n);
	invariant(buf->results_stale <= buf->results.n);
	invariant(buf->dropped <= buf->read_end && buf->read_end - buf->dropped <= kept(buf));
}

static void drop_results(struct stream_buf *buf, size_t size)
{
	buf->results_stale += size;
	if (buf->results_stale < buf->results.n - buf->results_stale)
		return;
	drop_front(buf, &buf->results, buf->results_stale);
	buf->results_stale = 0;
}

void stream_buf_deinit(struct stream_buf *buf)
{
	text_deinit(&buf->results);
	text_deinit(&buf->input);
	buf->extra = 0;
	stream_buf_charge(buf);
}

/* ---- Writing ---- */

/*
 * Drops the first @consumed bytes of results. More than there are means that the program skipped to the end:
 * then the results of pending input are not wanted either.
 */
static void drop_consumed(struct stream_buf *buf, uint64_t consumed)
{
	uint64_t here = consumed > buf->dropped ? consumed - buf->dropped : 0;
	if (here <= kept(buf)) {
		drop_results(buf, (size_t)here);
		return;
	}
	drop_results(buf, kept(buf));
	stream_buf_consume(buf, stream_buf_input(buf).size);
}

static int append_input(struct stream_buf *buf, const void *data, size_t size)
{
	if (buf->input_consumed >= buf->input.n / 2) {
		drop_front(buf, &buf->input, buf->input_consumed);
		buf->input_consumed = 0;
	}
	text_bytes(&buf->input, data, size);
	bool failed = buf->input.failed;
	buf->input.failed = false;
	return failed ? -ENOSPC : 0;
}

static int check_write(const struct stream_buf *buf, uint64_t off, bool append, size_t size)
{
	if (!append && off > STREAM_OFFSET_MAX - size)
		return -EFBIG;
	if (size > STREAM_INPUT_MAX - stream_buf_input(buf).size)
		return -ENOSPC;
	return buf->account && !account_has_room(buf->account, ACCOUNT_FILES, size) ? -ENOSPC : 0;
}

int stream_buf_apply_write(struct stream_buf *buf, uint64_t off, bool append, const void *data, size_t size)
{
	/* A program that seeks to the start before it writes has consumed what it read. */
	drop_consumed(buf, append || off <= buf->base ? buf->read_end : off - buf->base);
	int err = append_input(buf, data, size);
	buf->base = err ? off : off + size;
	buf->dropped = buf->read_end = 0;
	check_offsets(buf);
	stream_buf_charge(buf);
	return err;
}

int stream_buf_write(struct stream_buf *buf, uint64_t off, bool append, const void *data, size_t size)
{
	int err = check_write(buf, off, append, size);
	return err ? err : stream_buf_apply_write(buf, off, append, data, size);
}

void stream_buf_consume(struct stream_buf *buf, size_t size)
{
	invariant(size <= stream_buf_input(buf).size);
	buf->input_consumed += size;
	if (buf->input_consumed < buf->input.n)
		return;
	drop_front(buf, &buf->input, buf->input.n);
	buf->input_consumed = 0;
}

/* ---- Reading ---- */

/* Drops the oldest results that were read, several times as many bytes as stay and are moved. */
static void drop_oldest(struct stream_buf *buf)
{
	check_offsets(buf);
	uint64_t read = buf->read_end - buf->dropped;
	bool is_short = stream_buf_is_short(buf);
	uint64_t most = is_short ? STREAM_KEPT_MIN : STREAM_KEPT_MAX,
		 left = is_short ? STREAM_KEPT_MIN / 2 : STREAM_KEPT;
	if (read <= most)
		return;
	drop_results(buf, (size_t)(read - left));
	buf->dropped += read - left;
	stream_buf_charge(buf);
}

/* Whether too many results would have to be made and skipped. */
static bool is_too_far(const struct stream_buf *buf, uint64_t off)
{
	return off >= buf->base && stream_buf_input(buf).size &&
	       stream_buf_missing(buf, off, 0) > STREAM_AHEAD_MAX;
}

int stream_buf_seek(struct stream_buf *buf, uint64_t off)
{
	drop_oldest(buf);
	if (off < buf->base && !buf->dropped)
		buf->base = off;
	return off < buf->base || off - buf->base < buf->dropped || is_too_far(buf, off) ? -ESPIPE : 0;
}

/* The index of @off in the kept results, at most their number. */
static size_t kept_index(const struct stream_buf *buf, uint64_t off)
{
	uint64_t at = off - buf->base - buf->dropped;
	return at < kept(buf) ? (size_t)at : kept(buf);
}

size_t stream_buf_missing(const struct stream_buf *buf, uint64_t off, size_t size)
{
	uint64_t end = off - buf->base - buf->dropped + size;
	return end > kept(buf) ? (size_t)(end - kept(buf)) : 0;
}

struct span stream_buf_read(struct stream_buf *buf, uint64_t off, size_t size)
{
	size_t at = kept_index(buf, off), left = kept(buf) - at;
	size_t n = left < size ? left : size;
	if (buf->read_end < buf->dropped + at + n)
		buf->read_end = buf->dropped + at + n;
	stream_buf_charge(buf);
	return (struct span){(const uint8_t *)buf->results.v + (n ? buf->results_stale + at : 0), n};
}
