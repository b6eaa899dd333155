/*
 * format_numbered.c - lines with "#N 0xADDRESS" and an offset in a module:
 *
 *	    #1 0x5581f7f2a1cc  (/usr/bin/example+0x11cc) (BuildId: 0123...)       sanitizers
 *	 #1 0x00005581f7f2a1cc work(int) (/usr/bin/example+0x11cc)                 LLVM's own programs
 *	#1  0x00005581f7f2a1cc n/a (libexample.so.1 + 0x11cc)                      systemd-coredump
 *	    #1 <null> <null> (example+0x11cc)                                      ThreadSanitizer
 *
 * The offset is relative to the load address. Sanitizers print return addresses minus one byte, or minus one
 * instruction. systemd-coredump lists build ids first: "Module libexample.so.1 with build-id 0123...".
 */
#include "log/line/log_format.h"
#include "log/line/source_position.h"

enum { ADDRESS_DIGITS_MIN = 4 };

/* "(path+0x11cc)" or "(name + 0x11cc)". */
struct module_offset {
	const char *open, *name, *name_end, *close; /* @close: after the closing parenthesis */
	uint64_t off;
	bool spaced;
};

/* Whether @at can open a module and offset: names of functions contain '(', too, and unlinked files have
 * "(deleted)". */
static bool begins_place(struct text_scan s, const char *at)
{
	struct text_scan t = scan_from(at, s.end);
	return at > s.at && at[-1] == ' ' && *at == '(' && !scan_lit(&t, "(deleted)");
}

/* Parses the first offset and the last '(' before it. */
static bool parse_place(struct text_scan s, struct module_offset *ret)
{
	const char *open = NULL, *seen = s.at;
	for (const char *p = s.at; (p = find_text(p, s.end, "+")); p++) {
		for (; seen < p; seen++)
			open = begins_place(s, seen) ? seen : open;
		struct text_scan t = scan_from(p + 1, s.end);
		ret->spaced = scan_lit(&t, " ") && p > s.at && p[-1] == ' ';
		ret->name_end = p - ret->spaced;
		if (!open || open + 1 >= ret->name_end || !scan_hex(&t, &ret->off) || !scan_lit(&t, ")"))
			continue;
		ret->open = open;
		ret->name = open + 1;
		ret->close = t.at;
		return true;
	}
	return false;
}

/* The end of the name, without the ":arm64" of Apple's systems. */
static const char *before_architecture(const struct module_offset *place)
{
	const char *p = place->name_end;
	while (p > place->name && is_word(p[-1]))
		p--;
	return p > place->name + 1 && p < place->name_end && p[-1] == ':' && !is_digit(*p) ? p - 1
											   : place->name_end;
}

static void sanitizer(struct text_scan line, struct text_scan rest, const struct module_offset *place,
		      struct log_frame *ret)
{
	struct text_scan after = scan_from(place->close, line.end), t = rest;
	bool stepped = scan_lit(&t, " in ") || scan_lit(&t, "  (");
	module_set_name(&ret->module, place->name, before_architecture(place));
	scan_build_id(&after, &ret->module);
	ret->style = STYLE_SANITIZER;
	ret->kind = !ret->number ? PC_EXACT : stepped ? PC_ADJUSTED : PC_RETURN;
	ret->from = (uint32_t)(rest.at - line.at);
	ret->tail = (uint32_t)(place->open - 1 - line.at);
	ret->to = (uint32_t)(after.at - line.at);
}

static bool coredump(const struct log_context *context, struct text_scan line, struct text_scan rest,
		     const struct module_offset *place, struct log_frame *ret)
{
	const struct log_module *module = modules_by_name(&context->named, place->name, place->name_end);
	if (!scan_blanks(&rest) || rest.at >= place->open - 1)
		return false;
	if (module)
		ret->module = module->is;
	else
		module_set_name(&ret->module, place->name, place->name_end);
	ret->style = STYLE_COREDUMP;
	ret->silent = has_source_position(scan_from(rest.at, place->open));
	ret->kind = ret->number ? PC_RETURN : PC_EXACT;
	ret->from = (uint32_t)(rest.at - line.at);
	ret->to = (uint32_t)(place->open - 1 - line.at);
	return true;
}

/* "func <null> (module+0x11cc)": no line is known; the function may be "<null>", too. */
static bool thread_sanitizer(struct text_scan line, struct text_scan rest, uint64_t number,
			     struct log_frame *ret)
{
	static const char unknown[] = " <null> (";
	struct module_offset place;
	size_t size = strlen(unknown);
	if (!parse_place(rest, &place) || place.spaced || (size_t)(place.open + 1 - rest.at) < size ||
	    memcmp(place.open + 1 - size, unknown, size) != 0)
		return false;
	struct text_scan after = scan_from(place.close, line.end);
	*ret = (struct log_frame){
		.address = place.off, .space = FRAME_RVA, .number = (uint32_t)number, .has_number = true};
	module_set_name(&ret->module, place.name, place.name_end);
	scan_build_id(&after, &ret->module);
	ret->style = STYLE_THREADS;
	ret->kind = number ? PC_ADJUSTED : PC_EXACT;
	ret->from = (uint32_t)(rest.at - line.at);
	ret->to = (uint32_t)(place.open - 1 - line.at);
	return true;
}

static bool frame(const struct log_context *context, struct text_scan line, const char *hash,
		  struct log_frame *ret)
{
	uint64_t number, address;
	struct module_offset place;
	struct text_scan s = scan_from(hash + 1, line.end);
	if (!scan_decimal(&s, &number) || number > UINT32_MAX || !scan_blanks(&s))
		return false;
	if (!scan_lit(&s, "0x"))
		return thread_sanitizer(line, s, number, ret);
	if (!scan_digits(&s, ADDRESS_DIGITS_MIN, &address) || !parse_place(s, &place))
		return false;
	*ret = (struct log_frame){
		.address = place.off, .space = FRAME_RVA, .number = (uint32_t)number, .has_number = true};
	if (place.spaced)
		return coredump(context, line, s, &place, ret);
	sanitizer(line, s, &place, ret);
	return true;
}

/* "SUMMARY: AddressSanitizer: heap-buffer-overflow (/usr/bin/example+0x11aa)". */
static bool summary(struct text_scan line, struct log_frame *ret)
{
	struct module_offset place;
	const char *at = find_rare(line.at, line.end, "SUMMARY: ", 0);
	if (!at || !parse_place(scan_from(at, line.end), &place) || place.spaced)
		return false;
	struct text_scan after = scan_from(place.close, line.end);
	*ret = (struct log_frame){
		.address = place.off, .space = FRAME_RVA, .style = STYLE_SUMMARY, .apart = true};
	module_set_name(&ret->module, place.name, place.name_end);
	scan_build_id(&after, &ret->module);
	ret->from = (uint32_t)(place.open - line.at);
	ret->to = (uint32_t)(after.at - line.at);
	return true;
}

static size_t find_numbered(const struct log_context *context, struct text_scan line,
			    struct log_frame ret[static LINE_FRAMES_MAX])
{
	for (const char *p = line.at; (p = find_text(p, line.end, "#")); p++)
		if (frame(context, line, p, &ret[0]))
			return 1;
	return summary(line, &ret[0]);
}

/* "Module libexample.so.1 with build-id 0123", in older versions "Found module libexample.so.1 with build-id:
 * 0123". */
static int note_numbered(struct log_context *context, struct text_scan line)
{
	static const char words[] = " with build-id";
	struct log_module module;
	if (!find_rare(line.at, line.end, words, strlen(" with ")))
		return 0;
	module = (struct log_module){.key = 0};
	const char *at = find_text(line.at, line.end, "odule "),
		   *with = find_text(at ? at : line.end, line.end, words);
	if (!with)
		return 0;
	struct text_scan s = scan_from(with + strlen(words), line.end);
	scan_lit(&s, ":");
	const char *name = at + strlen("odule "), *id, *package = find_text(name, with, " from ");
	if (!scan_blanks(&s))
		return 0;
	for (id = s.at; s.at < s.end && hex_value(*s.at) >= 0;)
		s.at++;
	if (name >= with || !module_set_id(&module.is, id, s.at))
		return 0;
	module_set_name(&module.is, name, package ? package : with);
	return modules_add(&context->named, &module, false);
}

const struct log_format format_numbered = {
	.needs = MARK_PLUS | MARK_HEX, .find = find_numbered, .note = note_numbered};
