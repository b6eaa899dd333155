/*
 * format_absolute.c - a path and an address in brackets, with no offset before it:
 *
 *	./example[0x4011cc]    ./example() [0x4011cc]     backtrace_symbols() of glibc: of a program at its
 *	                                                  link-time address
 *	 > /usr/bin/example() [0x11cc]                    strace -k: an offset in the file
 */
#include "log/line/log_format.h"
#include "log/line/source_position.h"

static bool is_path(char c)
{
	return is_word(c) || c == '/' || c == '.' || c == '-' || c == '+' || c == '~' || c == '@';
}

static bool parse_absolute(struct text_scan line, const char *bracket, struct log_frame *ret)
{
	struct text_scan s = scan_from(bracket + 1, line.end), begin = line;
	const char *to = bracket, *from;
	*ret = (struct log_frame){.space = FRAME_LINK, .style = STYLE_PLAIN, .kind = PC_RETURN};
	if (!scan_hex(&s, &ret->address) || !scan_lit(&s, "]"))
		return false;
	if (to - line.at > 3 && memcmp(to - 3, "() ", 3) == 0)
		to -= 3;
	for (from = to; from > line.at && to - from < FILTER_NAME_SIZE && is_path(from[-1]);)
		from--;
	from = after_colour(line.at, from, to);
	if (!memchr(from, '/', (size_t)(to - from)))
		return false;
	scan_blanks(&begin);
	if (scan_lit(&begin, "> "))
		ret->space = FRAME_FILE; /* a system call is before it, as calls are */
	module_set_name(&ret->module, from, to);
	ret->from = ret->to = (uint32_t)(s.at - line.at);
	ret->silent = has_source_position(s);
	return true;
}

static size_t find_absolute(const struct log_context *context, struct text_scan line,
			    struct log_frame ret[static LINE_FRAMES_MAX])
{
	size_t n = 0;
	(void)context;
	for (const char *p = line.at; n < LINE_FRAMES_MAX && (p = find_text(p, line.end, "[0x")); p++)
		n += parse_absolute(line, p, &ret[n]);
	return n;
}

const struct log_format format_absolute = {.needs = MARK_BRACKET | MARK_HEX, .find = find_absolute};
