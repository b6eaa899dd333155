/*
 * cursor.h - bounds-checked reading of untrusted bytes.
 *
 * A cursor is a window on bytes plus a sticky error: the first read that does not fit moves the cursor to
 * its end, and every later read gives zero. A decoder can therefore be written like the table in the
 * specification and be checked once per record, with cursor_ok(). Loops must run on bytes left
 * (cursor_left()) or on counts checked with cursor_can_hold(), never on a value just read.
 */
#ifndef GSYM_BASE_CURSOR_H
#define GSYM_BASE_CURSOR_H

#include "gsym/base/invariant.h"
#include "gsym/base/bytes.h"

struct cursor {
	const uint8_t *start; /* first byte of the window that offsets are counted from */
	const uint8_t *pos;
	const uint8_t *end;
	const uint8_t *failed; /* where the first failed read began; NULL while all is well */
	bool big;              /* byte order of fixed-width fields */
};

static inline struct cursor cursor_new(const void *data, size_t size, bool big)
{
	static const uint8_t nothing[1];
	const uint8_t *at = data ? data : nothing; /* not even 0 may be added to NULL */
	return (struct cursor){.start = at, .pos = at, .end = at + size, .big = big};
}

static inline bool cursor_ok(const struct cursor *c)
{
	return !c->failed;
}

/* Bytes not yet read; 0 after a failure. */
static inline size_t cursor_left(const struct cursor *c)
{
	invariant(c->start <= c->pos && c->pos <= c->end);
	return (size_t)(c->end - c->pos);
}

/* Offset of the next byte, or of the first failed read, from the start of the window. */
static inline uint64_t cursor_off(const struct cursor *c)
{
	return (uint64_t)((c->failed ? c->failed : c->pos) - c->start);
}

/* Marks the cursor as failed at the present position; the first failure is kept. */
static inline void cursor_fail(struct cursor *c)
{
	if (!c->failed)
		c->failed = c->pos;
	c->pos = c->end;
}

/* Whether @count records of at least @least bytes each could still follow: ask before allocating. */
static inline bool cursor_can_hold(const struct cursor *c, uint64_t count, size_t least)
{
	return count <= cursor_left(c) / least;
}

/* The next @n bytes, or NULL. Subtracts rather than adds: pos + n could wrap. */
static inline const uint8_t *cursor_take(struct cursor *c, uint64_t n)
{
	if (n > cursor_left(c)) {
		cursor_fail(c);
		return NULL;
	}
	const uint8_t *at = c->pos;
	c->pos += n;
	return at;
}

static inline void cursor_skip(struct cursor *c, uint64_t n)
{
	(void)cursor_take(c, n);
}

/* Moves to @off bytes from the start of the window. */
static inline void cursor_seek(struct cursor *c, uint64_t off)
{
	if (c->failed)
		return;
	if (off > (uint64_t)(c->end - c->start))
		cursor_fail(c);
	else
		c->pos = c->start + off;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *at = cursor_take(c, 1);
	return at ? *at : 0;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	const uint8_t *at = cursor_take(c, 2);
	return at ? load16(at, c->big) : 0;
}

static inline uint32_t cursor_u24(struct cursor *c)
{
	const uint8_t *at = cursor_take(c, 3);
	return at ? load24(at, c->big) : 0;
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	const uint8_t *at = cursor_take(c, 4);
	return at ? load32(at, c->big) : 0;
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	const uint8_t *at = cursor_take(c, 8);
	return at ? load64(at, c->big) : 0;
}

/* An unsigned field of @size bytes: 1, 2, 4 or 8. Any other size fails the cursor. */
static inline uint64_t cursor_uint(struct cursor *c, unsigned size)
{
	switch (size) {
	case 1: return cursor_u8(c);
	case 2: return cursor_u16(c);
	case 4: return cursor_u32(c);
	case 8: return cursor_u64(c);
	}
	cursor_fail(c);
	return 0;
}

/* Slow path of cursor_uleb(): redundant padding is accepted, bits past the 64th are not. */
static inline uint64_t cursor_uleb_slow(struct cursor *c)
{
	const uint8_t *at = c->pos;
	uint64_t v = 0;
	for (unsigned shift = 0; at < c->end; shift += 7) {
		uint8_t b = *at++;
		uint64_t bits = b & 0x7f;
		if (shift >= 64 ? bits != 0 : bits << shift >> shift != bits)
			break;
		if (shift < 64)
			v |= bits << shift;
		if (!(b & 0x80)) {
			c->pos = at;
			return v;
		}
	}
	cursor_fail(c);
	return 0;
}

/* ULEB128 (DWARF 5, 7.6). One byte is the common case. */
static inline uint64_t cursor_uleb(struct cursor *c)
{
	if (__builtin_expect(c->pos < c->end && *c->pos < 0x80, 1))
		return *c->pos++;
	return cursor_uleb_slow(c);
}

/* SLEB128 (DWARF 5, 7.6). Padding must repeat the sign. */
static inline int64_t cursor_sleb(struct cursor *c)
{
	const uint8_t *at = c->pos;
	uint64_t v = 0;
	for (unsigned shift = 0; at < c->end; shift += 7) {
		uint8_t b = *at++;
		uint64_t bits = b & 0x7f;
		if (shift < 63)
			v |= bits << shift;
		else if (shift == 63 && (bits == 0 || bits == 0x7f))
			v |= bits << 63;
		else if (shift > 63 && bits == ((int64_t)v < 0 ? 0x7f : 0))
			;
		else
			break;
		if (b & 0x80)
			continue;
		c->pos = at;
		if (shift + 7 < 64 && (b & 0x40))
			v |= ~(uint64_t)0 << (shift + 7);
		return (int64_t)v;
	}
	cursor_fail(c);
	return 0;
}

/* Skips a signed or unsigned LEB128 number. */
static inline void cursor_skip_leb(struct cursor *c)
{
	const uint8_t *at = c->pos;
	while (at < c->end && (*at & 0x80))
		at++;
	if (at < c->end)
		c->pos = at + 1;
	else
		cursor_fail(c);
}

/* A NUL-terminated string inside the window, or NULL. */
static inline const char *cursor_str(struct cursor *c)
{
	const uint8_t *nul = c->pos == c->end ? NULL : memchr(c->pos, 0, cursor_left(c));
	if (!nul) {
		cursor_fail(c);
		return NULL;
	}
	const char *s = (const char *)c->pos;
	c->pos = nul + 1;
	return s;
}

/*
 * The next @n bytes as a sub-cursor whose offsets still count from the parent's start: a decoder cannot
 * leave its record, and the parent has skipped what the decoder does not know.
 */
static inline struct cursor cursor_window(struct cursor *c, uint64_t n)
{
	struct cursor w = *c;
	const uint8_t *at = cursor_take(c, n);
	if (at)
		w.end = at + n;
	else
		cursor_fail(&w);
	return w;
}

#endif
