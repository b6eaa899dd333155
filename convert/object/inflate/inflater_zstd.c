/*
 * inflater_zstd.c - zstd's frames, one after the other (RFC 8878, 3.1). libzstd keeps as much of what it has
 * inflated as a frame lets its data refer back to, the window, so only frames with a small one are worth it.
 */
#include "convert/object/inflate/inflater.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "work/types/memory_limit.h"

enum {
	WINDOW_SUITS = 8 << 20, /* bytes: what every decoder should support; levels below 20 need no more */
	FRAME_MAGIC = 0xfd2fb528,
	WINDOW_LOG_MIN = 10,
	WINDOW_LOG_MAX = 27, /* that of ZSTD_decompressStream(), unless it is given another */
	SINGLE_SEGMENT =
		1 << 5, /* of the descriptor: the window is the content, whose size has 1 to 8 bytes */
};

struct zstd_inflater {
	ZSTD_DCtx *context;
	ZSTD_inBuffer in;
	bool between; /* frames: the last one was inflated and verified */
};

/* The size of the content in the header of a frame with a single segment. */
static uint64_t content_size(struct span in, uint8_t descriptor)
{
	static const uint8_t sizes[] = {1, 2, 4, 8}, dictionary_id[] = {0, 1, 2, 4};
	unsigned size = sizes[descriptor >> 6], at = 5 + dictionary_id[descriptor & 3];
	uint64_t content = size == 2 ? 256 : 0;
	if (in.size < at + size)
		return UINT64_MAX;
	for (unsigned i = 0; i < size; i++)
		content += (uint64_t)in.data[at + i] << (8 * i);
	return content;
}

bool inflater_zstd_suits(struct span in)
{
	if (in.size < 6 || load32(in.data, false) != FRAME_MAGIC)
		return false;
	uint8_t descriptor = in.data[4], window = in.data[5];
	if (descriptor & SINGLE_SEGMENT)
		return content_size(in, descriptor) <= WINDOW_SUITS;
	uint64_t base = (uint64_t)1 << (WINDOW_LOG_MIN + (window >> 3));
	return base + base / 8 * (window & 7) <= WINDOW_SUITS;
}

static void zstd_close(void *inflater)
{
	struct zstd_inflater *z = inflater;
	ZSTD_freeDCtx(z->context);
	free(z);
}

static void *zstd_open(struct span in)
{
	struct zstd_inflater *z = calloc(1, sizeof(*z));
	if (!z)
		return NULL;
	z->in = (ZSTD_inBuffer){in.data, in.size, 0};
	z->context = ZSTD_createDCtx();
	if (z->context)
		return z;
	memory_limit_note(0);
	zstd_close(z);
	return NULL;
}

static int error_of(ZSTD_ErrorCode code)
{
	switch (code) {
	case ZSTD_error_memory_allocation: memory_limit_note((size_t)1 << WINDOW_LOG_MAX); return -ENOMEM;
	case ZSTD_error_frameParameter_windowTooLarge: return -E2BIG;
	default: return -EBADMSG;
	}
}

static int64_t zstd_inflate(void *inflater, uint8_t *out, size_t size)
{
	struct zstd_inflater *z = inflater;
	ZSTD_outBuffer to = {out, size, 0};
	while (to.pos < size) {
		size_t read = z->in.pos, written = to.pos;
		size_t hint = ZSTD_decompressStream(z->context, &to, &z->in);
		if (ZSTD_isError(hint))
			return error_of(ZSTD_getErrorCode(hint));
		if (z->in.pos == read && to.pos == written)
			break;
		z->between = !hint;
	}
	return (int64_t)to.pos;
}

static bool zstd_ended(const void *inflater)
{
	const struct zstd_inflater *z = inflater;
	return z->between && z->in.pos == z->in.size;
}

static uint64_t zstd_used(const void *inflater)
{
	const struct zstd_inflater *z = inflater;
	return z->in.pos;
}

const struct inflater_kind inflater_zstd = {
	.memory_mib = 1 << (WINDOW_LOG_MAX - 20),
	.open = zstd_open,
	.close = zstd_close,
	.inflate = zstd_inflate,
	.ended = zstd_ended,
	.used = zstd_used,
};
