/*
 * put.h - numbers and strings written into reserved memory: eight digits at a time, strings in whole
 * blocks.
 *
 * Each function writes at @at and returns the end of what it wrote. Up to PUT_SLACK more bytes may be
 * overwritten after that end, and as many must be readable after each string.
 */
#ifndef GSYM_BASE_PUT_H
#define GSYM_BASE_PUT_H

#include <string.h>

#include "gsym/base/bytes.h"

enum {
	PUT_SLACK = 64,
	PUT_NUMBER_MAX = 32, /* bytes that a number takes at most, slack included */
	PUT_BLOCK = 32,
};

/* @n digits of the eight in @digits, of which the first is in the highest byte. */
static inline char *put_digits(char *at, uint64_t digits, unsigned n)
{
	uint64_t first = digits << (64 - 8 * n); /* n > 0 */
	first = HOST_BIG_ENDIAN ? first : __builtin_bswap64(first);
	memcpy(at, &first, sizeof(first));
	return at + n;
}

/* The last @n hexadecimal digits, 1 to 8. */
static inline char *put_hex8(char *at, uint32_t value, unsigned n)
{
	uint64_t x = value;
	x = (x << 16 | x) & 0x0000ffff0000ffff;
	x = (x << 8 | x) & 0x00ff00ff00ff00ff;
	x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0f;
	uint64_t letters = (x + 0x0606060606060606) >> 4 & 0x0101010101010101;
	return put_digits(at, x + 0x3030303030303030 + letters * ('a' - '9' - 1), n);
}

/* Hexadecimal in lower case, as few digits as it takes. */
static inline char *put_hex(char *at, uint64_t value)
{
	unsigned n = value ? (67 - (unsigned)__builtin_clzll(value)) / 4 : 1;
	if (n <= 8)
		return put_hex8(at, (uint32_t)value, n);
	return put_hex8(put_hex8(at, (uint32_t)(value >> 32), n - 8), (uint32_t)value, 8);
}

/* The same with "0x". */
static inline char *put_addr(char *at, uint64_t addr)
{
	at[0] = '0';
	at[1] = 'x';
	return put_hex(at + 2, addr);
}

/* Decimal. */
static inline char *put_dec(char *at, uint64_t value)
{
	char digits[20], *first = digits + sizeof(digits);
	if (value < 10) {
		*at = (char)('0' + value);
		return at + 1;
	}
	if (value < 10000) {
		uint32_t v = (uint32_t)value, high = v / 100, low = v % 100;
		uint64_t x = high / 10 << 24 | (high % 10) << 16 | (low / 10) << 8 | low % 10;
		unsigned n = 2u + (v >= 100) + (v >= 1000);
		return put_digits(at, x + 0x30303030, n);
	}
	do {
		*--first = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	size_t n = (size_t)(digits + sizeof(digits) - first);
	memcpy(at, first, n);
	return at + n;
}

static inline char *put_char(char *at, char c)
{
	*at = c;
	return at + 1;
}

/* A string with PUT_SLACK readable bytes after its end. */
static inline char *put_span(char *at, const struct span *span)
{
	memcpy(at, span->data, PUT_BLOCK);
	for (size_t done = PUT_BLOCK; done < span->size; done += PUT_BLOCK)
		memcpy(at + done, span->data + done, PUT_BLOCK);
	return at + span->size;
}

#endif
