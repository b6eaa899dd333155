/*
 * format_plain.c - an image and an address in it, anywhere in a line: "<id>+0x11cc", relative to the load
 * address, or "<id> 0x4011cc", a link-time address. With only a number before it, it is a frame of a stack,
 * and a return address unless the number is 0. Alone in a line, "<40 digits> 0x11cc" is a frame of a stack
 * that a BPF program collected, as bpftrace and bcc print it.
 */
#include "log/line/log_format.h"
#include "log/line/source_position.h"

enum { BPF_ID_DIGITS = 40 };

static bool is_id(char c)
{
	return is_word(c) || c == '-';
}

/* "#1 " or "1: " and nothing else up to @to. */
static bool parse_number(struct text_scan line, const char *to, uint64_t *ret)
{
	struct text_scan s = scan_from(line.at, to);
	uint64_t number;
	scan_blanks(&s);
	scan_lit(&s, "#");
	if (!scan_decimal(&s, &number) || number > UINT32_MAX)
		return false;
	scan_lit(&s, ":");
	scan_blanks(&s);
	if (s.at < s.end)
		return false;
	*ret = number;
	return true;
}

/* Whether nothing is around the id [@from, @to) of 20 bytes, and the address that ends at @end. */
static bool is_bpf(struct text_scan line, const char *from, const char *to, const char *end)
{
	struct text_scan before = scan_from(line.at, from), after = scan_from(end, line.end);
	scan_blanks(&before);
	scan_blanks(&after);
	return to - from == BPF_ID_DIGITS && before.at == before.end && after.at == after.end;
}

static bool parse_plain(struct text_scan line, const char *from, const char *to, struct log_frame *ret)
{
	struct text_scan s = scan_from(to, line.end);
	uint64_t number = 0;
	*ret = (struct log_frame){.style = STYLE_PLAIN};
	if (to - from < ID_DIGITS_MIN || !module_set_id(&ret->module, from, to))
		return false;
	ret->space = scan_lit(&s, "+") ? FRAME_RVA : FRAME_LINK;
	if ((ret->space == FRAME_LINK && !scan_blanks(&s)) || !scan_hex(&s, &ret->address) ||
	    (s.at < s.end && is_word(*s.at)))
		return false;
	ret->beside_id = true;
	ret->has_number = parse_number(line, from, &number);
	ret->number = (uint32_t)number;
	ret->kind = number ? PC_RETURN : PC_EXACT;
	if (ret->space == FRAME_LINK && is_bpf(line, from, to, s.at)) {
		ret->space = FRAME_BPF;
		ret->first_exact = from > line.at; /* indented, as in a stack */
		ret->kind = ret->first_exact ? PC_RETURN : PC_EXACT;
	}
	ret->from = ret->to = (uint32_t)(s.at - line.at);
	return true;
}

static size_t find_plain(const struct log_context *context, struct text_scan line,
			 struct log_frame ret[static LINE_FRAMES_MAX])
{
	size_t n = 0;
	(void)context;
	for (const char *p = line.at; n < LINE_FRAMES_MAX && (p = find_hex(p, line.end)); p += 2) {
		const char *to = p, *from;
		while (to > line.at && is_blank(to[-1]))
			to--;
		to -= to == p && to > line.at && to[-1] == '+';
		for (from = to; from > line.at && is_id(from[-1]);)
			from--;
		if (to < p && to - from >= ID_DIGITS_MIN)
			n += parse_plain(line, after_colour(line.at, from, to), to, &ret[n]);
	}
	for (size_t i = 0; i < n; i++)
		ret[i].silent = has_source_position(
			scan_from(line.at + ret[i].to, i + 1 < n ? line.at + ret[i + 1].from : line.end));
	return n;
}

const struct log_format format_plain = {.needs = MARK_HEX, .find = find_plain};
