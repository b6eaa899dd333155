/*
 * format_perf.c - frames of "perf script":
 *
 *	ffffffff8134d95f ksys_write+0x6f ([kernel.kallsyms])
 *	    5581f7f2a1cc ns::work+0x12 (/usr/bin/example)
 *	5581f7f2a1cc ns::work+18 (/usr/bin/example)             bpftrace
 *	    11cc [unknown] (/usr/lib/libexample.so)
 *
 * in lines of their own, or after the colon of the event. Without a symbol the number counts: some versions
 * print an offset in the file, others an address in memory, for which "perf script --show-mmap-events" prints
 * where modules are. Code that was made at run time has no module, and stays.
 */
#include "log/maps/memory_map.h"

enum {
	ADDRESS_DIGITS_MIN = 1,
	FILE_SIZE_BITS = 32, /* of offsets in files; larger numbers are addresses */
};

/* ---- The object in parentheses ---- */

/* The parenthesis that opens the object at the end of the line: not that of "(deleted)". */
static const char *find_object(struct text_scan line)
{
	static const char deleted[] = " (deleted))";
	const char *end = line.end;
	if (end == line.at || end[-1] != ')')
		return NULL;
	size_t size = strlen(deleted);
	if ((size_t)(end - line.at) > size && memcmp(end - size, deleted, size) == 0)
		end -= size;
	for (end--; end > line.at && *end != '('; end--)
		;
	return end > line.at && end[-1] == ' ' ? end : NULL;
}

/* "/tmp/perf-4711.map", "//anon": of code that was made at run time. */
static bool is_made(struct text_scan path)
{
	struct text_scan s = path;
	uint64_t process;
	return scan_lit(&path, "//") ||
	       (scan_lit(&s, "/tmp/perf-") && scan_decimal(&s, &process) && scan_lit(&s, ".map"));
}

/* "/usr/bin/example", "[kernel.kallsyms]", "[ext4]". */
static bool set_object(const struct log_context *context, struct text_scan object, struct log_frame *ret)
{
	struct text_scan t = object;
	set_kernel_module(context, &ret->module);
	if (scan_lit(&t, "[kernel") || scan_lit(&t, "[guest.kernel"))
		return true;
	bool is_module = object.at < object.end && *object.at == '[';
	if (is_module && object.end[-1] != ']')
		return false;
	object.at += is_module;
	object.end -= is_module;
	if (object.at >= object.end || (!is_module && (*object.at != '/' || is_made(object))))
		return false;
	ret->module = (struct filter_module){.is_kernel = is_module, .needs_shown = !is_module};
	if (!is_module)
		ret->style = STYLE_COREDUMP;
	module_set_name(&ret->module, object.at, object.end);
	return true;
}

/* ---- Frames ---- */

static bool is_unknown(struct text_scan symbol)
{
	return scan_lit(&symbol, "[unknown]") && symbol.at == symbol.end;
}

/* "ns::work+0x12" */
static bool set_symbol(struct text_scan line, struct text_scan symbol, struct log_frame *ret)
{
	const char *plus = memrchr(symbol.at, '+', scan_left(&symbol));
	struct text_scan s = scan_from(plus ? plus + 1 : symbol.end, symbol.end);
	if ((!scan_hex(&s, &ret->address) && !scan_decimal(&s, &ret->address)) || s.at != s.end ||
	    plus == symbol.at || is_blank(*symbol.at) || is_digit(*symbol.at) ||
	    plus - symbol.at >= FILTER_SYMBOL_SIZE)
		return false;
	ret->space = FRAME_NAME;
	ret->symbol_from = (uint32_t)(symbol.at - line.at);
	ret->symbol_to = (uint32_t)(plus - line.at);
	return true;
}

static bool set_address(const struct log_context *context, uint64_t address, struct log_frame *ret)
{
	const struct filter_module module = ret->module;
	bool found = memory_map_find_in(context->events, address, &module, ret);
	if (address >> FILE_SIZE_BITS) {
		ret->unmapped = !found && !memory_map_find_in(context->mapped, address, &module, ret) &&
				!memory_map_find_in(context->given, address, &module, ret);
		return true;
	}
	/* A mapping of an event begins at an offset in the file, also where that is the load address. */
	ret->mapped = found ? ret->address : UINT64_MAX;
	ret->space = FRAME_PERF;
	ret->address = address;
	return true;
}

/*
 * The frame that begins with its address at @from, whose object is at @open. Beside its event it is no return
 * address.
 */
static bool parse_perf(const struct log_context *context, struct text_scan line, const char *from,
		       const char *open, struct log_frame *ret)
{
	struct text_scan s = scan_from(from, open - 1);
	struct text_scan before = scan_from(line.at, from);
	uint64_t address;
	*ret = (struct log_frame){.style = STYLE_KERNEL, .first_exact = true};
	if (!scan_digits(&s, ADDRESS_DIGITS_MIN, &address) || !scan_lit(&s, " ") || s.at == s.end ||
	    !set_object(context, scan_from(open + 1, line.end - 1), ret))
		return false;
	scan_blanks(&before);
	ret->apart = before.at != from;
	ret->kind = ret->apart ? PC_EXACT : PC_RETURN;
	ret->from = (uint32_t)(s.at - line.at);
	ret->to = (uint32_t)(s.end - line.at);
	ret->shown = address;
	return is_unknown(s) ? !ret->module.is_kernel && set_address(context, address, ret)
			     : set_symbol(line, s, ret);
}

/* Where the address may begin: at the first word, or after the last colon, of the event. */
static const char *after_event(const char *line, const char *open)
{
	const char *at = open;
	while (at > line && !(at[-1] == ':' && is_blank(*at)))
		at--;
	return at;
}

static size_t find_perf(const struct log_context *context, struct text_scan line,
			struct log_frame ret[static LINE_FRAMES_MAX])
{
	while (line.end > line.at && is_blank(line.end[-1]))
		line.end--;
	const char *open = find_object(line);
	struct text_scan s = scan_from(open ? after_event(line.at, open) : line.end, line.end);
	return open && scan_blanks(&s) && s.at < open && parse_perf(context, line, s.at, open, &ret[0]);
}

const struct log_format format_perf = {.find = find_perf};
