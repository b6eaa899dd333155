/*
 * format_windows.c - "Application Error" of Windows' event log: a module, an offset from its load address:
 *
 *	Faulting application name: app.exe, version: 1.0.0.0, time stamp: 0x65a1b2c3
 *	Faulting module name: example.dll, version: 1.0.0.0, time stamp: 0x65a1b2c4
 *	Exception code: 0xc0000005
 *	Fault offset: 0x00000000000011cc
 *
 * Exported logs have all of it in one line. Stacks of WinDbg are those of format_offset.c.
 */
#include "log/line/log_format.h"

/* The module that @text tells of; names have blanks, too. */
static bool parse_module(struct text_scan text, struct filter_module *ret)
{
	static const char title[] = "Faulting module name: ";
	const char *at = find_rare(text.at, text.end, title, 0), *from = at ? at + strlen(title) : text.end;
	const char *to = memchr(from, ',', (size_t)(text.end - from));
	to = to ? to : text.end;
	if (from == to || to - from >= FILTER_NAME_SIZE)
		return false;
	*ret = (struct filter_module){.is_windows = true};
	module_set_name(ret, from, to);
	return true;
}

static size_t find_windows(const struct log_context *context, struct text_scan line,
			   struct log_frame ret[static LINE_FRAMES_MAX])
{
	static const char title[] = "Fault offset: ";
	const char *at = find_rare(line.at, line.end, title, 0);
	if (!at)
		return 0;
	struct text_scan s = scan_from(at + strlen(title), line.end);
	ret[0] = (struct log_frame){
		.module = context->faulting, .space = FRAME_RVA, .kind = PC_EXACT, .apart = true};
	ret[0].style = STYLE_PLAIN;
	if (!scan_hex(&s, &ret[0].address))
		return 0;
	parse_module(scan_from(line.at, at), &ret[0].module);
	ret[0].from = ret[0].to = (uint32_t)(s.at - line.at);
	return ret[0].module.name[0] != 0;
}

static int note_windows(struct log_context *context, struct text_scan line)
{
	parse_module(line, &context->faulting);
	return 0;
}

const struct log_format format_windows = {.needs = MARK_HEX, .find = find_windows, .note = note_windows};
