/*
 * format_apple.c - crash reports of Apple's systems in text form:
 *
 *	Thread 0 Crashed:
 *	0   Example                       0x0000000104a7bf50 0x104a78000 + 16208
 *	...
 *	Binary Images:
 *	0x104a78000 - 0x104a7ffff Example arm64  <0123456789abcdef0123456789abcdef> /Applications/Example
 *
 * The images come last, or before the frames, so the filter buffers the report. It may be quoted ("> "). The
 * frames of an exception may also be a list, of which frames like those above are made:
 *
 *	Last Exception Backtrace:
 *	(0x104a7bf50 0x1b0a7bf50)
 *
 * Swift's runtime writes such reports on other systems, with ids of any length:
 *
 *	Thread 0 "example" crashed:
 *
 *	1 [ra] 0x0000aaaab12311cc main + 9 in example
 *	...
 *	Images (25 omitted):
 *
 *	0x0000aaaab1230000-0x0000aaaab1233000 0123456789abcdef example /usr/bin/example
 *
 * Frames in no image are written in other ways. They are no frames to explain, but belong to the report:
 *
 *	0   ???                           0x7ff8a42b0fcc ???
 *	0   ???                           000000000000000000 0 + 0
 *	0   <translation info unavailable> 0x0000000102ad0718 ???
 */
#include "log/formats/report_lines.h"

enum {
	ADDRESS_DIGITS_MIN = 8,
	/* Columns that the next field begins after. */
	NUMBER_WIDTH = 3,
	LABEL_WIDTH = 30,
	ADDRESS_DIGITS = 16,
};

/* Skips blanks, and marks of quoting in mail. */
static void skip_prefix(struct text_scan *s)
{
	while (s->at < s->end && (is_blank(*s->at) || *s->at == '>'))
		s->at++;
}

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
	skip_prefix(&s);
	if (!scan_decimal(&s, &ret->number) || ret->number > UINT32_MAX || !scan_blanks(&s))
		return false;
	ret->label = s.at;
	/* The name may contain blanks, and a tab follows it. */
	for (const char *p = s.at; (p = find_hex(p, line.end)); p++) {
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

/* "1 [ra] 0x0000aaaab12311cc main + 9 in example": attributes before the address, the image after it. */
static bool parse_swift_frame(struct text_scan line, struct apple_frame *ret)
{
	struct text_scan s = line, word;
	if (!scan_decimal(&s, &ret->number) || ret->number > UINT32_MAX || !scan_blanks(&s))
		return false;
	while (s.at < s.end && *s.at == '[') {
		scan_token(&s, &word);
		if (word.end[-1] != ']')
			return false;
		scan_blanks(&s);
	}
	if (!parse_address(&s, &ret->address))
		return false;
	ret->rest = s.at;
	const char *in = s.at >= line.at + 4 ? find_text(s.at - 1, line.end, " in ") : NULL;
	ret->label = in ? in + strlen(" in ") : line.end;
	for (ret->label_end = ret->label; ret->label_end < line.end && !is_blank(*ret->label_end);)
		ret->label_end++;
	return ret->label_end > ret->label;
}

static bool parse_range(struct text_scan *s, uint64_t *ret_start, uint64_t *ret_last)
{
	skip_prefix(s);
	if (!scan_hex(s, ret_start))
		return false;
	scan_blanks(s);
	if (!scan_lit(s, "-") && !scan_lit(s, "\xe2\x80\x93"))
		return false;
	scan_blanks(s);
	return scan_hex(s, ret_last) && scan_blanks(s) && *ret_last >= *ret_start;
}

/* "name arch (version) <uuid> /path": the order of the middle differs between versions. */
static bool parse_image(struct text_scan line, struct log_module *ret)
{
	struct text_scan s = line;
	uint64_t start, last;
	if (!parse_range(&s, &start, &last))
		return false;
	*ret = (struct log_module){.start = start};
	const char *open = find_text(s.at, s.end, "<"), *close = open ? find_text(open, s.end, ">") : NULL;
	struct text_scan word;
	if (!close && scan_token(&s, &word) && scan_left(&word) >= ID_DIGITS_MIN) { /* Swift's */
		close = word.end;
		open = word.at - 1;
		scan_blanks(&s);
	}
	if (!close || !module_set_id(&ret->is, open + 1, close))
		return false;
	const char *name = s.at + (s.at < s.end && *s.at == '+'), *end = name;
	while (end < s.end && *end != ' ' && (end < open || name > open))
		end++;
	module_set_name(&ret->is, name, end);
	ret->key = ret->start;
	ret->size = last - ret->start < UINT64_MAX ? last - ret->start + 1 : UINT64_MAX;
	return true;
}

/* Digits, perhaps with "0x". */
static bool is_address(struct text_scan word)
{
	scan_lit(&word, "0x");
	const char *from = word.at;
	while (word.at < word.end && hex_value(*word.at) >= 0)
		word.at++;
	return word.at == word.end && word.at - from >= ADDRESS_DIGITS_MIN;
}

/* A number, a label, and an address anywhere after it. */
static bool is_like_frame(struct text_scan s)
{
	struct text_scan word;
	uint64_t number;
	if (!scan_decimal(&s, &number) || !scan_blanks(&s) || !scan_token(&s, &word))
		return false;
	while (scan_token(&s, &word))
		if (is_address(word))
			return true;
	return false;
}

static bool is_images(struct text_scan s)
{
	if (scan_lit(&s, "Images:") || scan_lit(&s, "Images ("))
		return s.at == s.end || s.end[-1] == ':';
	return scan_lit(&s, "Binary Images") && (s.at == s.end || *s.at == ':' || is_blank(*s.at));
}

enum apple_line apple_line_kind(struct text_scan line)
{
	struct apple_addresses addresses;
	struct apple_frame frame;
	struct log_module image;
	struct text_scan s = line, t;
	skip_prefix(&s);
	t = s;
	if (scan_lit(&t, "Thread "))
		return t.at < t.end && is_digit(*t.at) ? APPLE_THREAD : APPLE_OTHER;
	if (scan_lit(&t, "Process:") || scan_lit(&t, "Incident Identifier:"))
		return APPLE_REPORT;
	if (apple_addresses_parse(line, &addresses))
		return scan_left(&addresses.title) ? APPLE_BACKTRACE : APPLE_ADDRESSES;
	if (is_images(s))
		return APPLE_IMAGES;
	if (is_like_frame(s) || parse_swift_frame(s, &frame))
		return APPLE_FRAME;
	if (parse_image(line, &image))
		return APPLE_IMAGE;
	return find_rare(s.at, s.end, "Backtrace", 0) ? APPLE_THREAD : APPLE_OTHER;
}

/* ---- Lists of addresses ---- */

static bool next_address(struct text_scan *list, uint64_t *ret)
{
	scan_blanks(list);
	return scan_lit(list, "0x") && scan_digits(list, ADDRESS_DIGITS_MIN, ret) &&
	       (list->at == list->end || is_blank(*list->at));
}

bool apple_addresses_parse(struct text_scan line, struct apple_addresses *ret)
{
	struct text_scan s = line;
	uint64_t address;
	skip_prefix(&s);
	ret->prefix = scan_from(line.at, s.at);
	ret->title = s;
	const char *open = find_text(s.at, s.end, "(");
	if (!open || s.end[-1] != ')')
		return false;
	for (ret->title.end = open; ret->title.end > s.at && is_blank(ret->title.end[-1]);)
		ret->title.end--;
	ret->list = s = scan_from(open + 1, s.end - 1);
	ret->number = 0;
	if (scan_left(&ret->title) && !find_text(ret->title.at, ret->title.end, "Backtrace:"))
		return false;
	while (next_address(&s, &address))
		ret->number++;
	bool ok = ret->number && s.at == s.end;
	ret->number = 0;
	return ok;
}

bool apple_addresses_image(struct apple_addresses *addresses, const struct log_modules *images,
			   const struct log_module **ret)
{
	uint64_t address;
	if (!next_address(&addresses->list, &address))
		return false;
	*ret = modules_by_address(images, &address);
	return true;
}

static void fill_column(struct text_buf *out, size_t from, size_t width)
{
	size_t n = out->n - from;
	text_fill(out, ' ', n < width ? width - n : 0);
	text_char(out, ' ');
}

bool apple_addresses_next(struct apple_addresses *addresses, const struct log_modules *images,
			  struct text_buf *out)
{
	uint64_t address;
	if (!next_address(&addresses->list, &address))
		return false;
	uint64_t plain = address;
	const struct log_module *image = modules_by_address(images, &plain);
	text_bytes(out, addresses->prefix.at, scan_left(&addresses->prefix));
	size_t from = out->n;
	text_dec(out, addresses->number++);
	fill_column(out, from, NUMBER_WIDTH);
	from = out->n;
	text_str(out, image && image->is.name[0] ? image->is.name : "???");
	fill_column(out, from, LABEL_WIDTH);
	text_lit(out, "0x");
	text_hex(out, address, ADDRESS_DIGITS);
	text_char(out, ' ');
	text_addr(out, image ? image->start : 0);
	text_lit(out, " + ");
	text_dec(out, image ? plain - image->start : address);
	return true;
}

/* ---- Frames ---- */

static size_t find_apple(const struct log_context *context, struct text_scan line,
			 struct log_frame ret[static LINE_FRAMES_MAX])
{
	struct apple_frame f;
	if (!context->in_report || !(parse_swift_frame(line, &f) || parse_frame(line, &f)))
		return 0;
	const struct log_module *image = modules_by_address(&context->apple, &f.address);
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
		.label_from = (uint32_t)(f.label - line.at),
		.label_to = (uint32_t)(f.label_end - line.at),
		.number = (uint32_t)f.number,
		.has_number = true,
	};
	return 1;
}

int apple_note(struct log_context *context, struct text_scan line)
{
	struct log_module image;
	return parse_image(line, &image) ? modules_add(&context->apple, &image, true) : 0;
}

const struct log_format format_apple = {.find = find_apple};
