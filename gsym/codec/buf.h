/*
 * buf.h - binary fields appended to a growable buffer: the counterpart of the cursor.
 *
 * The buffer is a text_buf, so its error is sticky too: an encoder checks buf_ok() once, at its end.
 */
#ifndef GSYM_CODEC_BUF_H
#define GSYM_CODEC_BUF_H

#include "gsym/base/invariant.h"
#include "gsym/base/bytes.h"
#include "gsym/base/text_buf.h"

enum {
	LEB128_MAX = 10, /* bytes of the longest LEB128 of 64 bits */
};

struct buf {
	struct text_buf bytes;
	bool big; /* byte order of fixed-width fields */
};

static inline void buf_free(struct buf *b)
{
	text_deinit(&b->bytes);
}

static inline bool buf_ok(const struct buf *b)
{
	return !b->bytes.failed;
}

static inline size_t buf_size(const struct buf *b)
{
	return b->bytes.n;
}

/* Drops what was written from offset @size on, and an allocation failure with it. */
static inline void buf_truncate(struct buf *b, size_t size)
{
	invariant(size <= b->bytes.n);
	b->bytes.n = size;
	b->bytes.failed = false;
}

/* Space for @size bytes at the end, which buf_commit() makes part of the buffer; NULL without memory. */
static inline uint8_t *buf_reserve(struct buf *b, size_t size)
{
	return text_reserve(&b->bytes, size) ? (uint8_t *)b->bytes.v + b->bytes.n : NULL;
}

/* Everything before @end, a position within the space reserved last, has been written. */
static inline void buf_commit(struct buf *b, const uint8_t *end)
{
	invariant((const char *)end >= b->bytes.v + b->bytes.n &&
		  (const char *)end <= b->bytes.v + b->bytes.cap);
	b->bytes.n = (size_t)((const char *)end - b->bytes.v);
}

static inline void buf_bytes(struct buf *b, const void *data, size_t size)
{
	text_bytes(&b->bytes, data, size);
}

static inline void buf_zeros(struct buf *b, size_t size)
{
	text_fill(&b->bytes, 0, size);
}

/* Zeros up to the next multiple of @align, a power of two. */
static inline void buf_align(struct buf *b, size_t align)
{
	buf_zeros(b, -buf_size(b) & (align - 1));
}

static inline void buf_u8(struct buf *b, uint8_t v)
{
	buf_bytes(b, &v, 1);
}

static inline void buf_u16(struct buf *b, uint16_t v)
{
	uint8_t bytes[2];
	store16(bytes, v, b->big);
	buf_bytes(b, bytes, sizeof(bytes));
}

static inline void buf_u32(struct buf *b, uint32_t v)
{
	uint8_t bytes[4];
	store32(bytes, v, b->big);
	buf_bytes(b, bytes, sizeof(bytes));
}

static inline void buf_u64(struct buf *b, uint64_t v)
{
	uint8_t bytes[8];
	store64(bytes, v, b->big);
	buf_bytes(b, bytes, sizeof(bytes));
}

/* An unsigned field of @size bytes: 1, 2, 4 or 8; the caller knows that @v fits. */
static inline void buf_uint(struct buf *b, uint64_t v, unsigned size)
{
	switch (size) {
	case 1: buf_u8(b, (uint8_t)v); break;
	case 2: buf_u16(b, (uint16_t)v); break;
	case 4: buf_u32(b, (uint32_t)v); break;
	default: buf_u64(b, v); break;
	}
}

/* Overwrites the u32 at offset @off, which was written before. */
static inline void buf_patch32(struct buf *b, size_t off, uint32_t v)
{
	invariant(!buf_ok(b) || (off <= b->bytes.n && b->bytes.n - off >= sizeof(v)));
	if (buf_ok(b))
		store32(b->bytes.v + off, v, b->big);
}

/* ULEB128 at @at, where LEB128_MAX bytes are free; gives the byte after it. */
static inline uint8_t *put_uleb(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

/* SLEB128, likewise: ends with the first byte whose bit 6 repeats the sign of the rest. */
static inline uint8_t *put_sleb(uint8_t *at, int64_t v)
{
	for (; v < -0x40 || v > 0x3f; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = v & 0x7f;
	return at;
}

static inline void buf_uleb(struct buf *b, uint64_t v)
{
	uint8_t *at = buf_reserve(b, LEB128_MAX);
	if (at)
		buf_commit(b, put_uleb(at, v));
}

#endif
