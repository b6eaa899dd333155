/*
 * format_android.c - tombstones and traces of Android:
 *
 *	      #01 pc 000000000001a1cc  /system/lib64/libexample.so (work(int)+12) (BuildId: 0123...)
 *
 * or, in the Play Console and without a number,
 *
 *	  native: pc 000000000001a1cc  /system/lib64/libexample.so (work(int)+12)
 *
 * or, of OpenHarmony,
 *
 *	#01 pc 000000000001a1cc /system/lib64/libexample.so(work(int)+12)(0123...)
 *
 * Addresses are link-time addresses; those of callers were moved back into the call.
 */
#include "log/line/log_format.h"
#include "log/line/source_position.h"

enum { ADDRESS_DIGITS_MIN = 8 };

/* The end of the path at @s: the next " (", but for "(deleted)" and "(offset 0x1000)", which belong to it. */
static const char *end_of_path(struct text_scan s)
{
	for (const char *p = s.at; (p = find_text(p, s.end, " (")); p++) {
		struct text_scan t = scan_from(p + 2, s.end);
		if (!scan_lit(&t, "offset 0x") && !scan_lit(&t, "deleted)"))
			return p;
	}
	return s.end;
}

/* OpenHarmony: "(work(int)+12)(0123...)" or "(0123...)" right after the path. Returns where the id begins. */
static const char *find_attached(struct text_scan s, struct filter_module *module, const char **ret_path_end)
{
	const char *open = memchr(s.at, '(', scan_left(&s)), *id = s.end - 1;
	while (id > s.at && id[-1] != '(')
		id--;
	if (!open || s.end[-1] != ')' || id <= open || s.end - 1 - id < ID_DIGITS_MIN ||
	    !module_set_id(module, id, s.end - 1))
		return NULL;
	*ret_path_end = open;
	return id - 1;
}

/* "#01 " or "native: " before the address. */
static bool scan_beginning(struct text_scan *s, struct log_frame *ret)
{
	uint64_t number;
	if (scan_lit(s, "native: ")) {
		scan_blanks(s);
		ret->has_number = scan_lit(s, "#");
		if (!ret->has_number)
			return true;
	} else if (!scan_lit(s, "#")) {
		return false;
	} else {
		ret->has_number = true;
	}
	if (!scan_decimal(s, &number) || number > UINT32_MAX || !scan_blanks(s))
		return false;
	ret->number = (uint32_t)number;
	return true;
}

static bool parse_android(struct text_scan line, const char *at, struct log_frame *ret)
{
	struct text_scan s = scan_from(at, line.end);
	*ret = (struct log_frame){.space = FRAME_LINK, .style = STYLE_ANDROID};
	if (!scan_beginning(&s, ret) || !scan_lit(&s, "pc "))
		return false;
	scan_lit(&s, "0x");
	if (!scan_digits(&s, ADDRESS_DIGITS_MIN, &ret->address) || !scan_blanks(&s) || s.at == s.end)
		return false;
	const char *path_end = end_of_path(s), *id = find_text(path_end, line.end, " (BuildId: ");
	const char *attached = path_end == s.end ? find_attached(s, &ret->module, &path_end) : NULL;
	module_set_name(&ret->module, s.at, path_end);
	ret->kind = ret->number || !ret->has_number ? PC_ADJUSTED : PC_EXACT;
	ret->silent = has_source_position(scan_from(path_end, line.end));
	ret->from = (uint32_t)(path_end - line.at);
	ret->to = (uint32_t)((id ? id : attached ? attached : line.end) - line.at);
	if (id) {
		const char *digits = id + strlen(" (BuildId: "), *close = find_text(digits, line.end, ")");
		return close && module_set_id(&ret->module, digits, close);
	}
	return true;
}

static size_t find_android(const struct log_context *context, struct text_scan line,
			   struct log_frame ret[static LINE_FRAMES_MAX])
{
	(void)context;
	for (const char *p = line.at; (p = memchr(p, '#', (size_t)(line.end - p))); p++)
		if (parse_android(line, p, &ret[0]))
			return 1;
	const char *native = find_rare(line.at, line.end, "native: ", strlen("nati"));
	return native && parse_android(line, native, &ret[0]);
}

const struct log_format format_android = {.find = find_android};
