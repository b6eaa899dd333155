/*
 * inflater_zlib.c - zlib's and gzip's formats by ISA-L, which keeps the window of 32 KiB itself and is as
 * fast as libdeflate, but can stop anywhere.
 */
#include "convert/object/inflate/inflater.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>

enum { INPUT_STEP = 1 << 30 }; /* ISA-L counts bytes by 32 bits */

struct zlib_inflater {
	struct span in;
	uint64_t fed; /* bytes given to ISA-L */
	struct inflate_state state;
};

static void *open_as(struct span in, uint32_t format)
{
	struct zlib_inflater *z = calloc(1, sizeof(*z));
	if (!z)
		return NULL;
	z->in = in;
	isal_inflate_init(&z->state);
	z->state.crc_flag = format;
	return z;
}

static void *zlib_open(struct span in)
{
	return open_as(in, ISAL_ZLIB);
}

static void *gzip_open(struct span in)
{
	return open_as(in, ISAL_GZIP);
}

/* Gives ISA-L the next compressed bytes if it has none. */
static void feed(struct zlib_inflater *z)
{
	uint64_t left = z->in.size - z->fed;
	if (z->state.avail_in || !left)
		return;
	z->state.next_in = (uint8_t *)(uintptr_t)z->in.data + z->fed;
	z->state.avail_in = (uint32_t)(left < INPUT_STEP ? left : INPUT_STEP);
	z->fed += z->state.avail_in;
}

static int64_t zlib_inflate(void *inflater, uint8_t *out, size_t size)
{
	struct zlib_inflater *z = inflater;
	uint32_t most = size < INPUT_STEP ? (uint32_t)size : INPUT_STEP;
	z->state.next_out = out;
	z->state.avail_out = most;
	while (z->state.block_state != ISAL_BLOCK_FINISH) {
		uint32_t left = z->state.avail_out;
		feed(z);
		bool starved = !z->state.avail_in;
		if (isal_inflate(&z->state) != ISAL_DECOMP_OK)
			return -EBADMSG;
		if (!z->state.avail_out || (starved && z->state.avail_out == left))
			break;
	}
	return most - z->state.avail_out;
}

/* ISA-L has compared the checksum then. */
static bool zlib_ended(const void *inflater)
{
	const struct zlib_inflater *z = inflater;
	return z->state.block_state == ISAL_BLOCK_FINISH;
}

static uint64_t zlib_used(const void *inflater)
{
	const struct zlib_inflater *z = inflater;
	return z->fed - z->state.avail_in;
}

/* Whether another member follows the one that has ended. What else follows is ignored, as gzip does. */
static bool gzip_continues(const struct zlib_inflater *z)
{
	uint64_t at = zlib_used(z);
	return z->in.size - at >= 3 && z->in.data[at] == 0x1f && z->in.data[at + 1] == 0x8b &&
	       z->in.data[at + 2] == 8;
}

static int64_t gzip_inflate(void *inflater, uint8_t *out, size_t size)
{
	struct zlib_inflater *z = inflater;
	size_t done = 0;
	while (done < size) {
		int64_t n = zlib_inflate(z, out + done, size - done);
		if (n < 0)
			return n;
		done += (size_t)n;
		if (zlib_ended(z) && gzip_continues(z)) {
			z->fed = zlib_used(z);
			isal_inflate_init(&z->state);
			z->state.crc_flag = ISAL_GZIP;
		} else if (!n || zlib_ended(z))
			break;
	}
	return (int64_t)done;
}

const struct inflater_kind inflater_gzip = {
	.open = gzip_open,
	.close = free,
	.inflate = gzip_inflate,
	.ended = zlib_ended,
	.used = zlib_used,
};

const struct inflater_kind inflater_zlib = {
	.open = zlib_open,
	.close = free,
	.inflate = zlib_inflate,
	.ended = zlib_ended,
	.used = zlib_used,
};
