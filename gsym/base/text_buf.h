/*
 * text_buf.h - a growing run of bytes that becomes an answer.
 *
 * The error is sticky: once memory runs out every later append does nothing and `failed` stays set, so that a
 * renderer reads like the line it prints and its caller asks once. Zero-initialised is empty. Nothing here
 * goes through printf: an answer costs less than a microsecond.
 */
#ifndef GSYM_BASE_TEXT_BUF_H
#define GSYM_BASE_TEXT_BUF_H

#include "gsym/base/invariant.h"
#include "gsym/base/bytes.h"
#include "gsym/base/vec.h"

#include <string.h>

struct text_buf {
	char *v; /* not terminated */
	size_t n, cap;
	bool failed;
};

static inline void text_deinit(struct text_buf *buf)
{
	vec_free(buf);
}

/* What is in it, until the next append. */
static inline struct span text_span(const struct text_buf *buf)
{
	return (struct span){(const uint8_t *)buf->v, buf->n};
}

/* Empties the buffer and keeps its memory; forgets a failure. */
static inline void text_reset(struct text_buf *buf)
{
	buf->n = 0;
	buf->failed = false;
}

/* Reserves @more bytes at the end; false, and failed, without memory. */
static inline bool text_reserve(struct text_buf *buf, size_t more)
{
	invariant(buf->n <= buf->cap);
	if (buf->failed || vec_reserve(buf, more)) {
		buf->failed = true;
		return false;
	}
	return true;
}

static inline void text_bytes(struct text_buf *buf, const void *bytes, size_t size)
{
	if (size == 0 || !text_reserve(buf, size))
		return;
	memcpy(buf->v + buf->n, bytes, size);
	buf->n += size;
}

static inline void text_str(struct text_buf *buf, const char *str)
{
	text_bytes(buf, str, strlen(str));
}

static inline void text_char(struct text_buf *buf, char c)
{
	text_bytes(buf, &c, 1);
}

/* Appends a string literal. */
#define text_lit(buf, literal) text_bytes((buf), "" literal, sizeof(literal) - 1)

/* @count times @c. */
void text_fill(struct text_buf *buf, char c, size_t count);

/* Decimal. */
void text_dec(struct text_buf *buf, uint64_t value);

/* Hexadecimal in lower case, without prefix, at least @width digits (at most 16). */
void text_hex(struct text_buf *buf, uint64_t value, unsigned width);

/* "0x" and as few digits as it takes. */
void text_addr(struct text_buf *buf, uint64_t addr);

#endif
