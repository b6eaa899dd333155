/*
 * format_address.c - addresses in memory and nothing else, as unwinders print them without symbols:
 *
 *	#3  0x00005581f7f2a1cc in ?? ()                          gdb
 *	#1  0x00005581f7f2a1cc                                   eu-stack
 *	   3:     0x5581f7f2a1cc - <unknown>                     Rust
 *	 0# 0x00005581f7f2a1cc in ./example                      Boost
 *	    @     0x5581f7f2a1cc (unknown)                       glog
 *	==4711==    by 0x1091CC: ??? (in /usr/bin/example)       Valgrind
 *	  1: 16 [ 2: 32] @ 0x5581f7f2a1cc 0x5581f7f2a1dd         heap files of tcmalloc and jemalloc
 *
 * What is where in memory tells memory_map.h: lines of /proc/PID/maps in the log itself, the kernel's "Kernel
 * Offset: 0x1c000000 from 0xffffffff81000000", or the user. Other addresses are no code and stay.
 */
#include "log/maps/memory_map.h"

#include "log/line/source_position.h"

enum {
	ADDRESS_DIGITS_MIN = 4, /* after "0x" */
	KERNEL_DIGITS = 16,     /* without */
	BARE_ADDRESS_MIN = 1 << 16,
};

/* ---- What is around an address ---- */

/* What a writer without symbols puts in place of a name; it follows @s. */
static bool scan_placeholder(struct text_scan *s)
{
	return scan_lit(s, "?? ()") || scan_lit(s, "???") || scan_lit(s, "??") || scan_lit(s, "<unknown>") ||
	       scan_lit(s, "(unknown)") || scan_lit(s, "[unknown]") || scan_lit(s, "n/a");
}

/* The placeholder after the address at @s, or nothing at its end. False when there is none. */
static bool find_placeholder(struct text_scan s, struct text_scan *ret)
{
	if (!scan_lit(&s, " in ") && !scan_lit(&s, ": ") && !scan_lit(&s, " - "))
		scan_blanks(&s);
	const char *from = s.at;
	bool found = scan_placeholder(&s);
	*ret = scan_from(from, s.at);
	return found;
}

/* "#3  ", "3: ", "3# ", with nothing before but blanks, or "frame #3: " anywhere. */
static bool parse_number(struct text_scan s, struct log_frame *ret)
{
	const char *frame = find_rare(s.at, s.end, "frame #", strlen("frame "));
	uint64_t number;
	s.at = frame ? frame + strlen("frame ") : s.at;
	scan_blanks(&s);
	bool hash = scan_lit(&s, "#");
	if (!scan_decimal(&s, &number) || number > UINT32_MAX ||
	    (!hash && !scan_lit(&s, ":") && !scan_lit(&s, "#")))
		return false;
	ret->number = (uint32_t)number;
	ret->has_number = true;
	ret->kind = number ? PC_RETURN : PC_EXACT;
	return true;
}

/*
 * Lists of callers are after an '@', but for where the signal came, "PC: @". Valgrind has moved return
 * addresses back into the call.
 */
static void set_kind(struct text_scan line, const char *at, struct log_frame *ret)
{
	struct text_scan s = line;
	const char *list = memchr(line.at, '@', (size_t)(at - line.at));
	if (parse_number(scan_from(line.at, at), ret))
		return;
	if (scan_lit(&s, "=="))
		ret->kind = PC_ADJUSTED;
	else
		ret->kind = list && !(list - line.at >= 4 && memcmp(list - 4, "PC: ", 4) == 0) ? PC_RETURN
											       : PC_EXACT;
}

/* "pc=", "rip=" before @at: the program counter, and not any value. */
static bool is_named_pc(const char *line, const char *at)
{
	static const char *const names[] = {"pc=", "PC=", "ip=", "rip=", "eip=", "lr=", "RIP=", "LR="};
	if (at == line || at[-1] != '=')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *from = at - line >= (ptrdiff_t)strlen(names[i]) ? at - strlen(names[i]) : NULL;
		if (from && memcmp(from, names[i], strlen(names[i])) == 0 &&
		    (from == line || !is_word(from[-1])))
			return true;
	}
	return false;
}

static bool begins_word(const char *line, const char *at)
{
	return at == line ||
	       (!is_word(at[-1]) && at[-1] != '+' && at[-1] != '=' && at[-1] != '-' && at[-1] != '.' &&
		at[-1] != '/') ||
	       is_named_pc(line, at);
}

static bool is_boundary(struct text_scan s)
{
	return s.at == s.end || (!is_word(*s.at) && *s.at != '+' && *s.at != '-' && *s.at != '/');
}

/* "0x5581f7f2a1cc", or "ffffffff8134d95f". Advances past what is not an address, too. */
static bool scan_address(const char *line, struct text_scan *s, uint64_t *ret)
{
	const char *from = s->at;
	bool begins = begins_word(line, from);
	struct text_scan t = *s;
	bool marked = scan_lit(&t, "0x");
	bool found =
		begins && scan_digits(&t, marked ? ADDRESS_DIGITS_MIN : KERNEL_DIGITS, ret) && is_boundary(t);
	if (found) {
		s->at = t.at;
		return true;
	}
	for (s->at++; s->at < s->end && is_word(*s->at);)
		s->at++;
	return false;
}

/* ---- Frames ---- */

static bool locate_address(const struct log_context *context, uint64_t address, struct log_frame *ret)
{
	const struct kernel_range *kernel = &context->kernel_range;
	if (address - kernel->start < kernel->size) {
		ret->module = context->kernel;
		ret->module.is_kernel = true;
		strcpy(ret->module.name, "vmlinux");
		ret->space = FRAME_LINK;
		ret->address = address - kernel->slide;
		return true;
	}
	return memory_map_find(context->mapped, address, ret) ||
	       memory_map_find(context->given, address, ret);
}

/*
 * Returns whether an address without a placeholder can only be one of code: it is numbered, or called so, and
 * nothing follows it but the file, "in ./example" or "[node]".
 */
static bool is_bare_frame(struct text_scan line, const char *from, struct text_scan after)
{
	struct log_frame numbered;
	if (is_named_pc(line.at, from))
		return true;
	const char *to = from;
	while (to > line.at && is_blank(to[-1]))
		to--;
	if (to == line.at || (to[-1] != ':' && to[-1] != '#' && !is_digit(to[-1])) ||
	    !parse_number(scan_from(line.at, from), &numbered))
		return false;
	scan_blanks(&after);
	if (!scan_lit(&after, "in ") && after.at < after.end && *after.at != '[')
		return false;
	return !memchr(after.at, ' ', scan_left(&after));
}

/*
 * Returns whether it is of a frame in a list, too, whatever its value: after an '@', or alone in the line, in
 * brackets as glibc writes what no file has.
 */
static bool is_of_frame(struct text_scan line, const char *from, struct text_scan after)
{
	struct text_scan before = scan_from(line.at, from), rest = after;
	scan_blanks(&before);
	if (scan_lit(&before, "["))
		scan_lit(&rest, "]");
	scan_blanks(&rest);
	return (before.at == from && rest.at == rest.end) || scan_lit(&before, "@ ") ||
	       is_bare_frame(line, from, after);
}

/*
 * The module that follows at @s: " in ./example", " from ./example", " (in ./example)". It may be a program
 * that cannot move.
 */
static bool scan_fixed(struct text_scan s, struct log_frame *ret)
{
	if (ret->shown >= FIXED_MAX ||
	    (!scan_lit(&s, " in ") && !scan_lit(&s, " from ") && !scan_lit(&s, " (in ")))
		return false;
	const char *name = s.at;
	while (s.at < s.end && is_module_name(*s.at))
		s.at++;
	if (s.at == name)
		return false;
	module_set_name(&ret->module, name, s.at);
	ret->address = ret->shown;
	ret->space = FRAME_FIXED;
	ret->is_estimate = true;
	return true;
}

static bool parse_address(const struct log_context *context, struct text_scan line, struct text_scan *s,
			  struct log_frame *ret)
{
	const char *from = s->at;
	struct text_scan placeholder;
	uint64_t address;
	if (!scan_address(line.at, s, &address))
		return false;
	bool unnamed = find_placeholder(*s, &placeholder);
	bool of_frame = unnamed || is_of_frame(line, from, *s);
	if (!context->has_places && !of_frame)
		return false;
	*ret = (struct log_frame){.style = STYLE_PLAIN, .shown = address};
	if (!locate_address(context, ret->shown, ret) &&
	    !(of_frame && memory_map_find(context->fixed, ret->shown, ret))) {
		if (!unnamed && (ret->shown < BARE_ADDRESS_MIN || !is_bare_frame(line, from, *s)))
			return false;
		ret->unmapped = !scan_fixed(unnamed ? scan_from(placeholder.end, line.end) : *s, ret);
	}
	ret->style = unnamed ? STYLE_COREDUMP : STYLE_PLAIN;
	ret->may_be_number = !unnamed && ret->space != FRAME_FIXED;
	bool in_brackets = from > line.at && from[-1] == '[' && s->at < line.end && *s->at == ']';
	ret->from = (uint32_t)((unnamed ? placeholder.at : s->at + in_brackets) - line.at);
	ret->to = (uint32_t)((unnamed ? placeholder.end : s->at + in_brackets) - line.at);
	set_kind(line, from, ret);
	if (unnamed)
		s->at = placeholder.end;
	return true;
}

/* The next byte at which an address may begin. */
static const char *next_candidate(const struct log_context *context, struct text_scan s)
{
	if (!context->has_places) { /* nothing but a placeholder tells an address from a number */
		const char *marked = find_hex(s.at, s.end);
		return marked ? marked : s.end;
	}
	while (s.at < s.end && hex_value(*s.at) < 0)
		s.at++;
	return s.at;
}

static size_t find_address(const struct log_context *context, struct text_scan line,
			   struct log_frame ret[static LINE_FRAMES_MAX])
{
	struct text_scan s = line;
	size_t n = 0;
	if (!context->has_places && !(context->marks & MARK_HEX))
		return 0;
	while (n < LINE_FRAMES_MAX && (s.at = next_candidate(context, s)) < s.end)
		n += parse_address(context, line, &s, &ret[n]);
	bool known = n && has_source_position(line);
	for (size_t i = 0; i < n; i++)
		ret[i].silent = known;
	return n;
}

/* The kernel that was running while perf recorded. */
static void note_kernel_id(struct log_context *context, const struct map_line *mapping)
{
	struct filter_module kernel = {.name = "vmlinux", .is_kernel = true};
	if (find_text(mapping->path.at, mapping->path.end, "[kernel.kallsyms]") == mapping->path.at &&
	    module_set_id(&kernel, mapping->id.at, mapping->id.end))
		context->kernel = kernel;
}

/* A list of mappings replaces the one before: it is of another process, or of another time. */
static int note_address(struct log_context *context, struct text_scan line)
{
	static const unsigned event_marks = MARK_BRACKET | MARK_HEX;
	struct map_line mapping;
	struct text_scan s = line;
	scan_blanks(&s);
	bool begins = s.at < s.end && (hex_value(*s.at) >= 0 || *s.at == '-');
	bool is_line = (begins || !(event_marks & ~context->marks)) && map_line_parse(line, &mapping);
	if (is_line && mapping.is_event) {
		note_kernel_id(context, &mapping);
		return memory_map_add_line(context->events, &mapping);
	}
	if (is_line && !context->in_map)
		memory_map_reset(context->mapped);
	context->in_map = is_line;
	context->has_places |= is_line;
	return is_line ? memory_map_add_line(context->mapped, &mapping) : 0;
}

const struct log_format format_address = {.find = find_address, .note = note_address};
