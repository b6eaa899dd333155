#include "gsym/base/escape.h"

#include "gsym/base/invariant.h"

/* Bit (1 << style) is set where a byte does not stand for itself. Bytes from 0x80 on need a closer look. */
enum { ALL = (1 << ESCAPE_STYLES) - 1 };
static const uint8_t special[256] = {
	[0x00 ... 0x1f] = ALL, ['"'] = 1 << ESCAPE_JSON, ['\\'] = 1 << ESCAPE_JSON | 1 << ESCAPE_TSV,
	[0x7f] = ALL,          [0x80 ... 0xff] = ALL,
};

/* Length of the well-formed UTF-8 sequence at @at (Unicode 15, table 3-7), 0 when there is none. */
static size_t utf8_decode(const uint8_t *at, size_t left, uint32_t *ret)
{
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	size_t size = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	if (at[0] < 0xc2 || at[0] > 0xf4 || size > left)
		return 0;
	uint32_t point = at[0] & (0x7f >> size);
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3f);
	}
	if (point < least[size] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret = point;
	return size;
}

/* Not C1 controls, line and paragraph separators, nor what reorders or hides the text around it. */
static bool printable(uint32_t point)
{
	return !(point < 0xa0 || point == 0xad || point == 0x61c || (point >= 0x200b && point <= 0x200f) ||
		 (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) ||
		 point == 0xfeff || (point >= 0xfff0 && point <= 0xfffb) ||
		 (point >= 0xe0000 && point <= 0xe0fff) || (point & 0xfffe) == 0xfffe);
}

static void hex_escape(struct text_buf *out, const uint8_t *at, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		text_lit(out, "\\x");
		text_hex(out, at[i], 2);
	}
}

static void json_escape(struct text_buf *out, uint32_t point)
{
	if (point == '"' || point == '\\') {
		text_char(out, '\\');
		text_char(out, (char)point);
	} else if (point == '\n') {
		text_lit(out, "\\n");
	} else if (point == '\t') {
		text_lit(out, "\\t");
	} else if (point < 0x10000) {
		text_lit(out, "\\u");
		text_hex(out, point, 4);
	} else {
		text_lit(out, "\\u");
		text_hex(out, 0xd7c0 + (point >> 10), 4);
		text_lit(out, "\\u");
		text_hex(out, 0xdc00 + (point & 0x3ff), 4);
	}
}

static void ascii_escape(struct text_buf *out, const uint8_t *at, enum escape_style style)
{
	if (style == ESCAPE_JSON)
		json_escape(out, *at);
	else if (style == ESCAPE_TSV && *at == '\\')
		text_lit(out, "\\\\");
	else if (style == ESCAPE_TSV && *at == '\t')
		text_lit(out, "\\t");
	else if (style == ESCAPE_TSV && *at == '\n')
		text_lit(out, "\\n");
	else
		hex_escape(out, at, 1);
}

/* One special byte, or one UTF-8 sequence: returns how many bytes it took. */
static size_t escape_one(struct text_buf *out, const uint8_t *at, size_t left, enum escape_style style)
{
	uint32_t point;
	if (*at < 0x80) {
		ascii_escape(out, at, style);
		return 1;
	}
	size_t size = utf8_decode(at, left, &point);
	if (size && printable(point))
		text_bytes(out, at, size);
	else if (style != ESCAPE_JSON)
		hex_escape(out, at, size ? size : 1);
	else if (size)
		json_escape(out, point);
	else
		text_lit(out, "\xef\xbf\xbd");
	return size ? size : 1;
}

/*
 * The high bit of each byte of the result is set where the byte of @word is none that every style takes as it
 * is: below a space, 0x7f and above, a quote or a backslash. A carry can add a doubt, never remove one.
 */
static uint64_t doubts(uint64_t word)
{
	const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
	uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
	return (word | (word - ones * 0x20) | (word + ones) | (quote - ones) | (backslash - ones)) & highs;
}

static bool plain_word(const uint8_t *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof(word));
	return !doubts(word);
}

/* The first byte from @at on that does not stand for itself, or @end. */
static const uint8_t *skip_plain(const uint8_t *at, const uint8_t *end, enum escape_style style)
{
	if (end - at >= 8) {
		while (end - at >= 8 && plain_word(at))
			at += 8;
		if (end - at < 8 && plain_word(end - 8)) /* the last word may overlap what was seen */
			return end;
	}
	while (at < end && !(special[*at] & 1 << style))
		at++;
	return at;
}

void escape_bytes(struct text_buf *out, const char *bytes, size_t size, enum escape_style style)
{
	if (!size)
		return; /* @bytes may be NULL */
	const uint8_t *at = (const uint8_t *)bytes, *end = at + size;
	while (at < end) {
		const uint8_t *run = at;
		at = skip_plain(at, end, style);
		text_bytes(out, run, (size_t)(at - run));
		if (at < end)
			at += escape_one(out, at, (size_t)(end - at), style);
	}
}

void escape_tail(struct text_buf *out, size_t from, enum escape_style style)
{
	invariant(out->failed || from <= out->n);
	if (out->failed || from == out->n)
		return;
	const uint8_t *bytes = (const uint8_t *)out->v;
	size_t at = (size_t)(skip_plain(bytes + from, bytes + out->n, style) - bytes);
	if (at == out->n)
		return;
	size_t size = out->n - at;
	char *tail = malloc(size);
	if (!tail) {
		out->failed = true;
		return;
	}
	memcpy(tail, out->v + at, size);
	out->n = at;
	escape_bytes(out, tail, size, style);
	free(tail);
}
