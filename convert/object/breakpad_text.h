/*
 * breakpad_text.h - the lines and numbers of Breakpad's text symbols.
 *
 * Fields are separated by spaces; lines end with LF or CR LF.
 */
#ifndef CONVERT_OBJECT_BREAKPAD_TEXT_H
#define CONVERT_OBJECT_BREAKPAD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The unread rest of a line. */
struct text_line {
	const char *at, *end;
};

/* The line at @at; *ret_next is where the next one begins. */
static inline struct text_line line_at(const char *at, const char *end, const char **ret_next)
{
	const char *feed = memchr(at, '\n', (size_t)(end - at));
	*ret_next = feed ? feed + 1 : end;
	const char *stop = feed ? feed : end;
	while (stop > at && stop[-1] == '\r')
		stop--;
	return (struct text_line){at, stop};
}

static inline void line_skip_spaces(struct text_line *l)
{
	while (l->at < l->end && *l->at == ' ')
		l->at++;
}

/* Whether the line continues with @word and a space: then both are consumed. */
static inline bool line_take_word(struct text_line *l, const char *word, size_t size)
{
	if ((size_t)(l->end - l->at) <= size || memcmp(l->at, word, size) != 0 || l->at[size] != ' ')
		return false;
	l->at += size;
	line_skip_spaces(l);
	return true;
}

#define LINE_TAKE(line, word) line_take_word(line, word, sizeof(word) - 1)

/* A field up to the next space, which may be empty. */
static inline struct text_line line_take_field(struct text_line *l)
{
	struct text_line field = {l->at, l->at};
	while (field.end < l->end && *field.end != ' ')
		field.end++;
	l->at = field.end;
	line_skip_spaces(l);
	return field;
}

/* A number must be followed by a space or the end of the line. */
static inline bool line_end_field(struct text_line *l, const char *from)
{
	if (l->at == from || (l->at < l->end && *l->at != ' '))
		return false;
	line_skip_spaces(l);
	return true;
}

/* The value of a hexadecimal digit, or -1. A table, because most bytes of a file pass through here. */
static inline int hex_digit(char c)
{
	static const int8_t values[256] = {
		['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
		['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
		['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
		['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
	};
	return values[(uint8_t)c] - 1;
}

static inline bool line_take_hex(struct text_line *l, uint64_t *ret)
{
	const char *from = l->at;
	uint64_t value = 0;
	for (int digit; l->at < l->end && (digit = hex_digit(*l->at)) >= 0; l->at++) {
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)digit;
	}
	*ret = value;
	return line_end_field(l, from);
}

/* Decimal, at most @max, which is below 2^60. */
static inline bool line_take_number(struct text_line *l, uint64_t max, uint64_t *ret)
{
	const char *from = l->at;
	uint64_t value = 0;
	for (; l->at < l->end && *l->at >= '0' && *l->at <= '9'; l->at++) {
		value = value * 10 + (uint64_t)(*l->at - '0');
		if (value > max)
			return false;
	}
	*ret = value;
	return line_end_field(l, from);
}

#endif
