/*
 * format_ksym.c - symbols of the Linux kernel with an offset but no size:
 *
 *	        vfs_write+203                                              bpftrace
 *	 => vfs_write+0xcb                                                 ftrace
 *	 #5 [ffffc90000013e58] vfs_write+203 at ffffffff8134d95f           crash
 *	    [exception RIP: vfs_write+203]
 *
 * Nothing else may be in the line, since a word and a number mean nothing by themselves, and no size tells
 * whether the log is of the same build.
 */
#include "log/line/log_format.h"

enum { ADDRESS_DIGITS_MIN = 4 };

static bool is_symbol(char c)
{
	return is_word(c) || c == '.' || c == '$' || c == '@';
}

/* "vfs_write+203" or "vfs_write+0xcb". */
static bool scan_symbol(struct text_scan line, struct text_scan *s, struct log_frame *ret)
{
	const char *from = s->at;
	while (s->at < s->end && is_symbol(*s->at))
		s->at++;
	ret->symbol_from = ret->from = (uint32_t)(from - line.at);
	ret->symbol_to = (uint32_t)(s->at - line.at);
	if (s->at == from || is_digit(*from) || s->at - from >= FILTER_SYMBOL_SIZE || !scan_lit(s, "+") ||
	    (!scan_hex(s, &ret->address) && !scan_decimal(s, &ret->address)))
		return false;
	ret->to = (uint32_t)(s->at - line.at);
	return s->at == s->end || !is_word(*s->at);
}

static bool is_end(struct text_scan s)
{
	scan_blanks(&s);
	return s.at == s.end;
}

static bool crash(struct text_scan line, struct text_scan s, struct log_frame *ret)
{
	uint64_t number, address;
	scan_blanks(&s);
	if (scan_lit(&s, "[exception RIP: ")) {
		ret->apart = true;
		ret->kind = PC_EXACT;
		return scan_symbol(line, &s, ret) && scan_lit(&s, "]") && is_end(s);
	}
	if (!scan_lit(&s, "#") || !scan_decimal(&s, &number) || number > UINT32_MAX || !scan_blanks(&s) ||
	    !scan_lit(&s, "[") || !scan_digits(&s, ADDRESS_DIGITS_MIN, &address) || !scan_lit(&s, "] ") ||
	    !scan_symbol(line, &s, ret) || !scan_lit(&s, " at ") ||
	    !scan_digits(&s, ADDRESS_DIGITS_MIN, &address))
		return false;
	ret->number = (uint32_t)number;
	ret->has_number = true;
	return true;
}

static bool alone(struct text_scan line, struct text_scan s, struct log_frame *ret)
{
	size_t blanks = scan_blanks(&s);
	if (scan_lit(&s, "=> "))
		blanks++;
	return blanks && scan_symbol(line, &s, ret) && is_end(s);
}

static size_t find_ksym(const struct log_context *context, struct text_scan line,
			struct log_frame ret[static LINE_FRAMES_MAX])
{
	const struct log_frame frame = {
		.space = FRAME_NAME, .style = STYLE_KERNEL, .kind = PC_RETURN, .first_exact = true};
	ret[0] = frame;
	if (!alone(line, line, &ret[0])) {
		ret[0] = frame;
		if (!crash(line, line, &ret[0]))
			return 0;
	}
	set_kernel_module(context, &ret[0].module);
	return 1;
}

const struct log_format format_ksym = {.needs = MARK_PLUS, .find = find_ksym};
