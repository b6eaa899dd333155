#include "gsym/base/text_buf.h"

#include "gsym/base/put.h"

enum { HEX_MAX = 16 };

void text_fill(struct text_buf *buf, char c, size_t count)
{
	if (count == 0 || !text_reserve(buf, count))
		return;
	memset(buf->v + buf->n, c, count);
	buf->n += count;
}

void text_dec(struct text_buf *buf, uint64_t value)
{
	if (text_reserve(buf, PUT_NUMBER_MAX))
		buf->n = (size_t)(put_dec(buf->v + buf->n, value) - buf->v);
}

void text_hex(struct text_buf *buf, uint64_t value, unsigned width)
{
	char digits[HEX_MAX];
	char *at = digits + sizeof(digits);
	char *least = at - (width < HEX_MAX ? width : HEX_MAX);
	do {
		*--at = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
	while (at > least)
		*--at = '0';
	text_bytes(buf, at, (size_t)(digits + sizeof(digits) - at));
}

void text_addr(struct text_buf *buf, uint64_t addr)
{
	if (text_reserve(buf, PUT_NUMBER_MAX))
		buf->n = (size_t)(put_addr(buf->v + buf->n, addr) - buf->v);
}
