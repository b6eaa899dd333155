/*
 * text_scan.h - scanning a line of text from left to right. Each function tests what is at the position,
 * and advances past it on a match.
 */
#ifndef LOG_LINE_TEXT_SCAN_H
#define LOG_LINE_TEXT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "gsym/base/ascii.h"

struct text_scan {
	const char *at, *end;
};

static inline struct text_scan scan_from(const char *at, const char *end)
{
	return (struct text_scan){at, end};
}

static inline size_t scan_left(const struct text_scan *s)
{
	return (size_t)(s->end - s->at);
}

static inline bool scan_bytes(struct text_scan *s, const char *bytes, size_t size)
{
	if (scan_left(s) < size || memcmp(s->at, bytes, size) != 0)
		return false;
	s->at += size;
	return true;
}

#define scan_lit(s, literal) scan_bytes((s), "" literal, sizeof(literal) - 1)

/* Skips blanks and tabs, and returns their number. */
static inline size_t scan_blanks(struct text_scan *s)
{
	const char *from = s->at;
	while (s->at < s->end && is_blank(*s->at))
		s->at++;
	return (size_t)(s->at - from);
}

/* The next word, which ends at a blank. False at the end. */
static inline bool scan_token(struct text_scan *s, struct text_scan *ret)
{
	scan_blanks(s);
	const char *from = s->at;
	while (s->at < s->end && !is_blank(*s->at))
		s->at++;
	*ret = scan_from(from, s->at);
	return s->at > from;
}

/* Bytes of identifiers: letters, digits, '_' and all but ASCII. */
static inline bool is_word(char c)
{
	return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

/* Hexadecimal digits, at least @least, of a number below 2^64. */
static inline bool scan_digits(struct text_scan *s, size_t least, uint64_t *ret)
{
	const char *p = s->at;
	uint64_t value = 0;
	for (; p < s->end && hex_value(*p) >= 0; p++) {
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)hex_value(*p);
	}
	if ((size_t)(p - s->at) < least)
		return false;
	*ret = value;
	s->at = p;
	return true;
}

/* "0x" and hexadecimal digits. */
static inline bool scan_hex(struct text_scan *s, uint64_t *ret)
{
	struct text_scan t = *s;
	if (!scan_lit(&t, "0x") || !scan_digits(&t, 1, ret))
		return false;
	*s = t;
	return true;
}

static inline bool scan_decimal(struct text_scan *s, uint64_t *ret)
{
	const char *p = s->at;
	uint64_t value = 0;
	for (; p < s->end && is_digit(*p); p++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return false;
	if (p == s->at)
		return false;
	*ret = value;
	s->at = p;
	return true;
}

/* Whether an SGR sequence (colour), such as "\x1b[1;31m", ends at @at: its 'm' does not belong to a word. */
static inline bool is_after_colour(const char *begin, const char *at)
{
	if (at == begin || at[-1] != 'm')
		return false;
	for (at--; at > begin && (is_digit(at[-1]) || at[-1] == ';');)
		at--;
	return at - begin >= 2 && at[-1] == '[' && at[-2] == '\x1b';
}

/* The beginning of the word in [from, to), which may begin with the end of an SGR sequence. */
static inline const char *after_colour(const char *begin, const char *from, const char *to)
{
	const char *letter = memchr(from, 'm', (size_t)(to - from));
	return letter && is_after_colour(begin, letter + 1) ? letter + 1 : from;
}

/* The first occurrence of @text at or after @from, or NULL. */
static inline const char *find_text(const char *from, const char *end, const char *text)
{
	return from && from < end ? memmem(from, (size_t)(end - from), text, strlen(text)) : NULL;
}

/* The same, faster for a text with a byte that most lines do not have, its @i-th. */
static inline const char *find_rare(const char *from, const char *end, const char *text, size_t i)
{
	size_t size = strlen(text);
	if ((size_t)(end - from) < size)
		return NULL;
	const char *last = end - size + i;
	for (const char *p = from + i; p <= last && (p = memchr(p, text[i], (size_t)(last + 1 - p))); p++)
		if (memcmp(p - i, text, size) == 0)
			return p - i;
	return NULL;
}

/* The first "0x" at or after @from, or NULL. */
static inline const char *find_hex(const char *from, const char *end)
{
	return find_rare(from, end, "0x", 1);
}

#endif
