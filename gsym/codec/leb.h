/*
 * leb.h - LEB128 for the inner loops of lookups.
 *
 * Whether a number has one byte or two is close to random in line tables and inline info, so up to two
 * bytes are read without a branch on the length. Longer numbers, and the last byte of a window, take the
 * slow path on a copy of the cursor: a cursor whose address is never taken stays in registers. Internal.
 */
#ifndef GSYM_CODEC_LEB_H
#define GSYM_CODEC_LEB_H

#include "gsym/base/cursor.h"

#define LEB_INLINE inline __attribute__((always_inline))

/* Whether the fast path applies: two bytes can be read, and the number ends with one of them. */
static LEB_INLINE bool leb_is_short(const struct cursor *c)
{
	return __builtin_expect(cursor_left(c) >= 2 && !(c->pos[0] & c->pos[1] & 0x80), 1);
}

/* The value of such a number, and its width in bits. */
static LEB_INLINE uint64_t leb_take_short(struct cursor *c, unsigned *ret_bits)
{
	uint64_t two = c->pos[0] >> 7;
	uint64_t v = (c->pos[0] & 0x7f) | ((uint64_t)c->pos[1] << 7 & -two);
	c->pos += 1 + two;
	*ret_bits = 7 + 7 * (unsigned)two;
	return v;
}

static LEB_INLINE uint64_t leb_unsigned(struct cursor *c)
{
	unsigned bits;
	if (leb_is_short(c))
		return leb_take_short(c, &bits);
	struct cursor copy = *c;
	uint64_t v = cursor_uleb(&copy);
	*c = copy;
	return v;
}

/* Likewise for a number that nearly always has one byte: there the branch predicts well and is faster. */
static LEB_INLINE uint64_t leb_tiny(struct cursor *c)
{
	if (__builtin_expect(cursor_left(c) && *c->pos < 0x80, 1))
		return *c->pos++;
	return leb_unsigned(c);
}

/* A signed number as two's complement, to be added to an unsigned one. */
static LEB_INLINE uint64_t leb_signed(struct cursor *c)
{
	unsigned bits;
	if (leb_is_short(c)) {
		uint64_t v = leb_take_short(c, &bits), sign = 1ull << (bits - 1);
		return (v ^ sign) - sign;
	}
	struct cursor copy = *c;
	int64_t v = cursor_sleb(&copy);
	*c = copy;
	return (uint64_t)v;
}

/*
 * Skips two numbers: among the next eight bytes, those that end a number have their top bit clear, and the
 * second of these is the last byte.
 */
static LEB_INLINE void leb_skip_pair(struct cursor *c)
{
	if (__builtin_expect(cursor_left(c) >= 8, 1)) {
		uint64_t ends = ~load64(c->pos, false) & 0x8080808080808080;
		ends &= ends - 1;
		if (__builtin_expect(ends != 0, 1)) {
			c->pos += __builtin_ctzll(ends) / 8 + 1;
			return;
		}
	}
	(void)leb_unsigned(c);
	(void)leb_unsigned(c);
}

#endif
