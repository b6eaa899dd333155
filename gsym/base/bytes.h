/*
 * bytes.h - loads and stores of fixed-width integers at any alignment, in either byte order.
 *
 * Nothing in the project casts a struct over bytes of a file: a GSYM file may sit unaligned inside
 * another file and may come from a machine of the other byte order.
 */
#ifndef GSYM_BASE_BYTES_H
#define GSYM_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HOST_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* Bytes, borrowed. */
struct span {
	const uint8_t *data;
	size_t size;
};

static inline uint16_t load16(const void *at, bool big)
{
	uint16_t v;
	memcpy(&v, at, sizeof(v));
	return big != HOST_BIG_ENDIAN ? __builtin_bswap16(v) : v;
}

static inline uint32_t load24(const void *at, bool big)
{
	const uint8_t *b = at;
	if (big)
		return (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];
	return (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
}

static inline uint32_t load32(const void *at, bool big)
{
	uint32_t v;
	memcpy(&v, at, sizeof(v));
	return big != HOST_BIG_ENDIAN ? __builtin_bswap32(v) : v;
}

static inline uint64_t load64(const void *at, bool big)
{
	uint64_t v;
	memcpy(&v, at, sizeof(v));
	return big != HOST_BIG_ENDIAN ? __builtin_bswap64(v) : v;
}

static inline void store16(void *at, uint16_t v, bool big)
{
	v = big != HOST_BIG_ENDIAN ? __builtin_bswap16(v) : v;
	memcpy(at, &v, sizeof(v));
}

static inline void store32(void *at, uint32_t v, bool big)
{
	v = big != HOST_BIG_ENDIAN ? __builtin_bswap32(v) : v;
	memcpy(at, &v, sizeof(v));
}

static inline void store64(void *at, uint64_t v, bool big)
{
	v = big != HOST_BIG_ENDIAN ? __builtin_bswap64(v) : v;
	memcpy(at, &v, sizeof(v));
}

#endif
