/*
 * log_claim.c - the function that a line names besides an offset in its module:
 *
 *	#1 0x7f51c00011cc in abort+0x12a (/usr/lib/libc.so.6+0x11cc)              sanitizers
 *	#01 pc 000011cc  /system/lib64/libexample.so (ns::work(int)+12)           Android
 *	C  [libexample.so+0x11cc]  work+0x1c                                      Java
 *
 * These writers read the symbols of the module itself, so the name tells whether the image is of that build.
 */
#include "log/line/log_format.h"

static bool is_named_by(char c)
{
	return is_word(c) || c == '.' || c == '@' || c == '$' || c == '~';
}

/* Before the parameters, and template arguments, that end at @to. */
static const char *before_brackets(const char *from, const char *to)
{
	unsigned depth = 0;
	while (to > from) {
		char c = to[-1];
		depth += c == ')' || c == '>';
		if (!depth)
			break;
		depth -= c == '(' || c == '<';
		to--;
	}
	return to;
}

bool log_claim_name(const char *from, const char *plus, struct log_claim *ret)
{
	const char *end = before_brackets(from, plus), *at = end;
	while (at > from && is_named_by(at[-1]))
		at--;
	ret->is_function = end != plus || (at - from >= 2 && at[-1] == ':' && at[-2] == ':');
	size_t size = 0;
	while (at + size < end && (!size || is_word(at[size]) || at[size] == '$'))
		size++;
	ret->name = at;
	ret->name_size = size;
	ret->is_whole = at + size == end;
	return size && size < FILTER_SYMBOL_SIZE && !is_digit(*at) && (at == from || at[-1] != '/');
}

/* "name+0x1c" or "name+28" around @plus, and not the offset of the frame itself. */
static bool parse_claim(struct text_scan line, const char *plus, const struct log_frame *frame,
			struct log_claim *ret)
{
	struct text_scan s = scan_from(plus + 1, line.end);
	if ((!scan_hex(&s, &ret->off) && !scan_decimal(&s, &ret->off)) ||
	    (s.at < s.end && !memchr(" \t\r\n)", *s.at, 5)))
		return false;
	return ret->off != frame->address && log_claim_name(line.at, plus, ret);
}

bool log_claim_find(struct text_scan line, const struct log_frame *frame, struct log_claim *ret)
{
	struct log_claim claim;
	unsigned n = 0;
	for (const char *p = line.at; (p = memchr(p, '+', (size_t)(line.end - p))); p++) {
		if (!parse_claim(line, p, frame, &claim))
			continue;
		*ret = claim;
		n++;
	}
	return n == 1;
}
