/* ascii.h - classes of ASCII characters, and hexadecimal digits, independent of the locale. */
#ifndef GSYM_BASE_ASCII_H
#define GSYM_BASE_ASCII_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* What may surround the content of a line, which may end with CR LF. */
static inline bool is_line_padding(char c)
{
	return is_blank(c) || c == '\r';
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The value of a hexadecimal digit of either case, or -1. */
static inline int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Writes the @n bytes @from as 2 * @n digits of lower case and a NUL; returns where the NUL is. */
static inline char *hex_write(char *ret, const uint8_t *from, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < n; i++) {
		*ret++ = digits[from[i] >> 4];
		*ret++ = digits[from[i] & 0xf];
	}
	*ret = 0;
	return ret;
}

#endif
