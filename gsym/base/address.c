#include "address.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool address_parse(const char *text, size_t size, uint64_t *ret)
{
	uint64_t value = 0;
	if (size > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
		text += 2;
		size -= 2;
	}
	for (size_t i = 0; i < size; i++) {
		int digit = hex_digit(text[i]);
		if (digit < 0 || value >> 60)
			return false;
		value = value << 4 | (uint64_t)digit;
	}
	*ret = value;
	return size > 0;
}
