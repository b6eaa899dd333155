/*
 * format_apple.c - crash reports of Apple's systems in text form:
 *
 *	Thread 0 Crashed:
 *	0   Example                       0x0000000104a7bf50 0x104a78000 + 16208
 *	...
 *	Binary Images:
 *	0x104a78000 - 0x104a7ffff Example arm64  <0123456789abcdef0123456789abcdef> /Applications/Example
 *
 * The images come last, so the filter buffers the report.
 */
#include "gsym/filter/log_format.h"

enum { ADDRESS_DIGITS_MIN = 8 };

/* The fields of a frame's line. */
struct apple_frame {
	uint64_t number, address;
	const char *label, *label_end; /* of the image */
	const char *rest;              /* the text after the address */
};

static bool parse_address(struct text_scan *s, uint64_t *ret)
{
	return scan_lit(s, "0x") && scan_digits(s, ADDRESS_DIGITS_MIN, ret) && scan_blanks(s);
}

static bool parse_frame(struct text_scan line, struct apple_frame *ret)
{
	struct text_scan s = line;
	scan_blanks(&s);
	if (!scan_decimal(&s, &ret->number) || ret->number > UINT32_MAX || !scan_blanks(&s))
		return false;
	ret->label = s.at;
	/* The name may contain blanks, and a tab follows it. */
	for (const char *p = s.at; (p = find_text(p, line.end, "0x")); p++) {
		struct text_scan t = scan_from(p, line.end);
		for (ret->label_end = p; ret->label_end > ret->label && is_blank(ret->label_end[-1]);)
			ret->label_end--;
		if (ret->label_end == p || ret->label_end == ret->label || !parse_address(&t, &ret->address))
			continue;
		ret->rest = t.at;
		return find_text(t.at, line.end, " + ") != NULL;
	}
	return false;
}

static bool parse_range(struct text_scan *s, uint64_t *ret_start, uint64_t *ret_last)
{
	scan_blanks(s);
	if (!scan_hex(s, ret_start))
		return false;
	scan_blanks(s);
	if (!scan_lit(s, "-"))
		return false;
	scan_blanks(s);
	return scan_hex(s, ret_last) && scan_blanks(s) && *ret_last >= *ret_start;
}

/* "name arch (version) <uuid> /path": the order of the middle differs between versions. */
static bool parse_image(struct text_scan line, struct log_module *ret)
{
	uint64_t last;
	struct text_scan s = line;
	*ret = (struct log_module){.key = 0};
	if (!parse_range(&s, &ret->start, &last))
		return false;
	const char *open = find_text(s.at, s.end, "<"), *close = open ? find_text(open, s.end, ">") : NULL;
	if (!close || !module_set_id(&ret->is, open + 1, close))
		return false;
	const char *name = s.at + (s.at < open && *s.at == '+'), *end = name;
	while (end < open && *end != ' ')
		end++;
	module_set_name(&ret->is, name, end);
	ret->key = ret->start;
	ret->size = last - ret->start < UINT64_MAX ? last - ret->start + 1 : UINT64_MAX;
	return true;
}

enum apple_line apple_line_kind(struct text_scan line)
{
	struct apple_frame frame;
	struct log_module image;
	struct text_scan s = line;
	scan_blanks(&s); /* of an indented report */
	if (scan_lit(&s, "Thread "))
		return s.at < s.end && is_digit(*s.at) ? APPLE_THREAD : APPLE_OTHER;
	if (find_text(line.at, line.end, "Backtrace"))
		return APPLE_THREAD;
	if (scan_lit(&s, "Binary Images:"))
		return APPLE_IMAGES;
	if (parse_frame(line, &frame))
		return APPLE_FRAME;
	return parse_image(line, &image) ? APPLE_IMAGE : APPLE_OTHER;
}

static size_t find(const struct log_context *context, struct text_scan line,
		   struct log_frame ret[static LINE_FRAMES_MAX])
{
	struct apple_frame f;
	if (!context->apple.list.n || !parse_frame(line, &f))
		return 0;
	const struct log_module *image = modules_by_address(&context->apple, f.address);
	if (!image)
		return 0;
	ret[0] = (struct log_frame){
		.module = image->is,
		.address = f.address - image->start,
		.space = FRAME_RVA,
		.style = STYLE_APPLE,
		.kind = f.number ? PC_RETURN : PC_EXACT,
		.from = (uint32_t)(f.rest - line.at),
		.to = (uint32_t)(line.end - line.at),
		.tail = (uint32_t)(line.end - line.at),
		.label_from = (uint32_t)(f.label - line.at),
		.label_to = (uint32_t)(f.label_end - line.at),
		.number = (uint32_t)f.number,
		.has_number = true,
	};
	return 1;
}

static int note(struct log_context *context, struct text_scan line)
{
	struct log_module image;
	return parse_image(line, &image) ? modules_add(&context->apple, &image, true) : 0;
}

const struct log_format format_apple = {find, note, NULL};
