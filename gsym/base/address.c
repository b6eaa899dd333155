#include "gsym/base/address.h"

#include "gsym/base/ascii.h"
#include "gsym/base/bytes.h"

bool address_parse(const char *text, size_t size, uint64_t *ret)
{
	uint64_t value = 0;
	if (size > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
		text += 2;
		size -= 2;
	}
	for (size_t i = 0; i < size; i++) {
		int digit = hex_value(text[i]);
		if (digit < 0 || value >> 60)
			return false;
		value = value << 4 | (uint64_t)digit;
	}
	*ret = value;
	return size > 0;
}

enum {
	DIGITS_MAX = 16,
	IS_DIGIT = 0x10, /* beside its value */
};

/* The same in each byte. */
#define EACH(byte) ((byte)*0x0101010101010101ull)

static const uint8_t digits[256] = {
	['0'] = IS_DIGIT,      ['1'] = IS_DIGIT | 1,  ['2'] = IS_DIGIT | 2,  ['3'] = IS_DIGIT | 3,
	['4'] = IS_DIGIT | 4,  ['5'] = IS_DIGIT | 5,  ['6'] = IS_DIGIT | 6,  ['7'] = IS_DIGIT | 7,
	['8'] = IS_DIGIT | 8,  ['9'] = IS_DIGIT | 9,  ['a'] = IS_DIGIT | 10, ['b'] = IS_DIGIT | 11,
	['c'] = IS_DIGIT | 12, ['d'] = IS_DIGIT | 13, ['e'] = IS_DIGIT | 14, ['f'] = IS_DIGIT | 15,
	['A'] = IS_DIGIT | 10, ['B'] = IS_DIGIT | 11, ['C'] = IS_DIGIT | 12, ['D'] = IS_DIGIT | 13,
	['E'] = IS_DIGIT | 14, ['F'] = IS_DIGIT | 15,
};

/*
 * The value of eight digits, all at once. A digit is what its value is written as: what else has the same low
 * bits differs then.
 */
static inline bool eight_digits(const char *text, uint32_t *ret)
{
	uint64_t x = load64((const uint8_t *)text, false), letter = x >> 6 & EACH(0x01);
	uint64_t v = (x & EACH(0x0f)) + letter * 9, tens = (v + EACH(6)) >> 4 & EACH(0x01);
	uint64_t written = v + EACH('0') + tens * ('a' - '9' - 1);
	if (((written ^ x) & ~(letter * ('a' - 'A'))) | (v & EACH(0xf0)))
		return false;
	v = __builtin_bswap64(v);
	v = (v | v >> 4) & 0x00ff00ff00ff00ff;
	v = (v | v >> 8) & 0x0000ffff0000ffff;
	*ret = (uint32_t)(v | v >> 16);
	return true;
}

size_t address_line(const char *text, size_t size, uint64_t *ret)
{
	size_t at = size > 2 && text[0] == '0' && (text[1] | 0x20) == 'x' ? 2 : 0;
	size_t end = size < at + DIGITS_MAX ? size : at + DIGITS_MAX, first = at;
	uint64_t value = 0;
	for (uint32_t part; end - at >= 8 && eight_digits(text + at, &part); at += 8)
		value = value << 32 | part;
	for (; at < end; at++) {
		unsigned digit = digits[(unsigned char)text[at]];
		if (!digit)
			break;
		value = value << 4 | (digit & 15);
	}
	if (at == first || at == size || text[at] != '\n')
		return 0;
	*ret = value;
	return at + 1;
}

bool address_may_be_bare(const char *text, size_t n)
{
	return (text[0] >= '0' && text[0] <= '9') || n == 8 || n == 16;
}

const char *address_begin(const char *text, uint64_t *ret)
{
	bool prefixed = text[0] == '0' && (text[1] | 0x20) == 'x';
	uint64_t value = 0, lost = 0;
	size_t n = 0;
	text += prefixed ? 2 : 0;
	for (int digit; (digit = hex_value(text[n])) >= 0; n++) {
		lost |= value >> 60;
		value = value << 4 | (uint64_t)digit;
	}
	if (n == 0 || lost || (!prefixed && !address_may_be_bare(text, n)))
		return NULL;
	*ret = value;
	return text + n;
}

uint64_t address_cut_offset(const char *text, size_t *size)
{
	uint64_t off;
	for (size_t i = *size; i-- > 1;) {
		if (hex_value(text[i]) >= 0)
			continue;
		bool is_offset = i >= 2 && text[i] == 'x' && text[i - 1] == '0' && text[i - 2] == '+' &&
				 address_parse(text + i - 1, *size - (i - 1), &off);
		if (!is_offset)
			return 0;
		*size = i - 2;
		return off;
	}
	return 0;
}

uint64_t address_from_usual_base(uint64_t n, uint64_t end)
{
	/* of programs and libraries of 64 bit, and of 32 bit */
	static const uint64_t bases[] = {0x140000000, 0x180000000, 0x400000, 0x10000000};
	for (size_t i = 0; n >= end && i < sizeof(bases) / sizeof(*bases); i++)
		if (n >= bases[i] && n - bases[i] < end)
			return n - bases[i];
	return n;
}
