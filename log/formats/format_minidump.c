/*
 * format_minidump.c - minidump_stackwalk -m of Breakpad and Crashpad. Fields are separated by '|':
 *
 *	Module|libexample.so|1.0|libexample.so|0123456789ABCDEF0|0x7f51c0000000|0x7f51c0001fff|0
 *
 *	0|1|libexample.so||||0x11cc
 *
 * that is thread, frame, module, function, file, line, and an offset from the load address if there is no
 * function. What is empty is filled in. Return addresses were moved back into the call.
 *
 * The text without -m has modules without symbols, and their ids, after the frames, as "(WARNING: No symbols,
 * libexample.so, 0123...)"; its frames are those of format_offset.c.
 */
#include "log/line/log_format.h"

enum { FIELDS_MAX = 8, FIELD_MODULE = 2, FIELD_FUNCTION = 3, FIELD_LINE = 5, FIELD_OFFSET = 6 };

/* Splits the line, and returns the number of fields; FIELDS_MAX + 1 if there are more. */
static size_t split(struct text_scan line, struct text_scan ret[static FIELDS_MAX])
{
	size_t n = 0;
	for (const char *p = line.at, *bar; n < FIELDS_MAX; p = bar + 1) {
		bar = memchr(p, '|', (size_t)(line.end - p));
		ret[n++] = scan_from(p, bar ? bar : line.end);
		if (!bar)
			return n;
	}
	return n + 1;
}

static bool is_number(struct text_scan s, uint64_t *ret)
{
	return scan_decimal(&s, ret) && s.at == s.end;
}

static size_t find_minidump(const struct log_context *context, struct text_scan line,
			    struct log_frame ret[static LINE_FRAMES_MAX])
{
	struct text_scan fields[FIELDS_MAX], *offset = &fields[FIELD_OFFSET], *module = &fields[FIELD_MODULE];
	uint64_t thread, number;
	ret[0] = (struct log_frame){
		.space = FRAME_RVA, .style = STYLE_MINIDUMP, .kind = PC_ADJUSTED, .has_number = true};
	if (line.at == line.end || !is_digit(*line.at) || split(line, fields) != FIELD_OFFSET + 1 ||
	    !is_number(fields[0], &thread) || !is_number(fields[1], &number) || number > UINT32_MAX ||
	    module->at == module->end || fields[FIELD_LINE].end - fields[FIELD_FUNCTION].at != 2 ||
	    !scan_hex(offset, &ret[0].address) || offset->at != offset->end)
		return 0;
	const struct log_module *known = modules_by_name(&context->named, module->at, module->end);
	if (known)
		ret[0].module = known->is;
	else
		module_set_name(&ret[0].module, module->at, module->end);
	ret[0].number = (uint32_t)number;
	ret[0].from = (uint32_t)(fields[FIELD_FUNCTION].at - line.at);
	ret[0].tail = (uint32_t)(fields[FIELD_LINE].end - line.at);
	ret[0].to = (uint32_t)(line.end - line.at);
	return 1;
}

static int note_minidump(struct log_context *context, struct text_scan line)
{
	struct text_scan fields[FIELDS_MAX], s = line;
	struct log_module module = {.key = 0};
	if (!scan_lit(&s, "Module|") || split(line, fields) != FIELDS_MAX || fields[1].at == fields[1].end ||
	    !module_set_id(&module.is, fields[4].at, fields[4].end))
		return 0;
	module_set_name(&module.is, fields[1].at, fields[1].end);
	return modules_add(&context->named, &module, false);
}

const struct log_format format_minidump = {
	.find = find_minidump, .needs = MARK_BAR | MARK_HEX, .note = note_minidump, .note_needs = MARK_BAR};
