/* inflater_xz.c - xz's streams, one after the other, by liblzma. */
#include "convert/object/inflate/inflater.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "work/types/memory_limit.h"

enum { DECODER_MIB = 256 /* xz -9 needs 65 */ };

struct xz_inflater {
	size_t size; /* of the compressed bytes */
	bool ended;
	lzma_stream stream;
};

static void xz_close(void *inflater)
{
	struct xz_inflater *x = inflater;
	lzma_end(&x->stream);
	free(x);
}

static void *xz_open(struct span in)
{
	struct xz_inflater *x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->stream = (lzma_stream)LZMA_STREAM_INIT;
	x->stream.next_in = in.data;
	x->stream.avail_in = x->size = in.size;
	if (lzma_stream_decoder(&x->stream, (uint64_t)DECODER_MIB << 20, LZMA_CONCATENATED) == LZMA_OK)
		return x;
	memory_limit_note(0);
	xz_close(x);
	return NULL;
}

static int error_of(const struct xz_inflater *x, lzma_ret r)
{
	switch (r) {
	case LZMA_MEM_ERROR: memory_limit_note(lzma_memusage(&x->stream)); return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR: return -E2BIG;
	default: return -EBADMSG;
	}
}

static int64_t xz_inflate(void *inflater, uint8_t *out, size_t size)
{
	struct xz_inflater *x = inflater;
	x->stream.next_out = out;
	x->stream.avail_out = size;
	while (x->stream.avail_out && !x->ended) {
		lzma_ret r = lzma_code(&x->stream, LZMA_FINISH);
		x->ended = r == LZMA_STREAM_END;
		if (r == LZMA_BUF_ERROR)
			break; /* the input ends in the middle */
		if (r != LZMA_OK && !x->ended)
			return error_of(x, r);
	}
	return (int64_t)(size - x->stream.avail_out);
}

/* liblzma has compared all checksums then. */
static bool xz_ended(const void *inflater)
{
	const struct xz_inflater *x = inflater;
	return x->ended;
}

static uint64_t xz_used(const void *inflater)
{
	const struct xz_inflater *x = inflater;
	return x->size - x->stream.avail_in;
}

const struct inflater_kind inflater_xz = {
	.memory_mib = DECODER_MIB,
	.open = xz_open,
	.close = xz_close,
	.inflate = xz_inflate,
	.ended = xz_ended,
	.used = xz_used,
};
