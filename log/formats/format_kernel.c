/*
 * format_kernel.c - oopses, warnings and traces of the Linux kernel.
 *
 * "func+0x12/0x40" is the offset and size of a function of the kernel or, followed by "[module]" or "[module
 * BUILDID]", of a module. The kernel's own build id is in the line
 *
 *	CPU: 3 PID: 1234 Comm: cat Not tainted 6.1.0 #1 0123456789abcdef0123456789abcdef01234567
 *
 * if it was built with CONFIG_STACKTRACE_BUILD_ID, as those of modules are.
 *
 * The dump of registers has the program counter ("RIP: 0010:func+0x12/0x40"), whose callers are in the trace
 * after it. With CONFIG_PRINTK_CALLER a field after the time identifies the task or CPU that prints the line:
 * "[    5.1][  T123]", "[    5.1][    C3]".
 */
#include "log/line/log_format.h"
#include "log/line/source_position.h"

enum { BUILD_ID_DIGITS_MIN = 32 };

static bool is_symbol(char c)
{
	return is_word(c) || c == '.' || c == '$';
}

/* ---- The text before a symbol ---- */

enum role {
	ROLE_FRAME, /* a frame of a trace */
	ROLE_HEAD,  /* the program counter */
	ROLE_APART, /* not part of a call chain */
};

/* Whether @label is between @line and @symbol, and not as the end of another: "IP: " of "RIP: ". */
static bool has_label(const char *line, const char *symbol, const char *label)
{
	for (const char *p = line; (p = find_text(p, symbol, label)); p++)
		if (p == line || !is_word(p[-1]) || is_after_colour(line, p))
			return true;
	return false;
}

static bool has_any(const char *line, const char *symbol, const char *const *labels, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has_label(line, symbol, labels[i]))
			return true;
	return false;
}

/* The program counter, as several architectures print it, or that of an interrupted instruction. */
static bool is_head(const char *line, const char *symbol)
{
	static const char *const labels[] = {
		"RIP: ", "RIP  [", "EIP: ",  "IP: ",     "EIP is at ",  "PC is at ",
		"pc : ", "NIP [",  "epc : ", "epc   : ", "Krnl PSW : ", "WARNING: "};
	return has_any(line, symbol, labels, ARRAY_SIZE(labels)) ||
	       (symbol - line > 3 && memcmp(symbol - 3, "at ", 3) == 0 && !is_word(symbol[-4]) &&
		find_text(line, symbol, "--- "));
}

/* A return address in a register. */
static bool is_apart(const char *line, const char *symbol)
{
	static const char *const labels[] = {"LR [", "LR is at ", "lr : ", "ra : ", "ra    : "};
	return has_any(line, symbol, labels, ARRAY_SIZE(labels));
}

/* The beginning of the frame, which may have "[<ffffffff81000000>] ", two of them, "? " or "(" before its
 * symbol. */
static const char *skip_back(const char *line, const char *at)
{
	for (const char *before = NULL; at != before;) {
		before = at;
		while (at > line && (is_blank(at[-1]) || at[-1] == '(' || at[-1] == '?'))
			at--;
		if (at == line || at[-1] != ']')
			continue;
		const char *p = at - 1;
		while (p > line && (hex_value(p[-1]) >= 0 || p[-1] == '<' || p[-1] == '>'))
			p--;
		if (p > line && p[-1] == '[' && at - p > 8)
			at = p - 1;
	}
	return at;
}

/* Frames of traces are preceded only by the prefix that every line of the log has. */
static enum role role_of(const char *line, const char *symbol)
{
	if (is_head(line, symbol))
		return ROLE_HEAD;
	if (is_apart(line, symbol))
		return ROLE_APART;
	const char *at = skip_back(line, symbol);
	bool from = at - line >= 4 && memcmp(at - 4, "from", 4) == 0;
	return at == line || !is_symbol(at[-1]) || is_after_colour(line, at) || from ? ROLE_FRAME
										     : ROLE_APART;
}

/* Whether the unwinder found it by scanning the stack, so that it may be stale. */
static bool is_unreliable(const char *line, const char *symbol, struct text_scan after)
{
	return (symbol - line >= 2 && memcmp(symbol - 2, "? ", 2) == 0) ||
	       find_text(after.at, after.end, " (unreliable)");
}

/* A number for the task or CPU that printed the line; 0 when it is not stated. */
static uint64_t parse_thread(struct text_scan line)
{
	for (const char *p = line.at; (p = find_text(p, line.end, "[")); p++) {
		struct text_scan s = scan_from(p + 1, line.end);
		uint64_t number;
		scan_blanks(&s);
		bool task = scan_lit(&s, "T");
		if ((task || scan_lit(&s, "C")) && scan_decimal(&s, &number) && scan_lit(&s, "]") &&
		    number < UINT32_MAX)
			return 2 * number + task + 1;
	}
	return 0;
}

/* ---- Frames ---- */

/* " [module]" or " [module BUILDID]", perhaps with taint flags. */
static void parse_module(struct text_scan *s, struct filter_module *module)
{
	struct text_scan t = *s;
	if (!scan_lit(&t, " ["))
		return;
	module->name[0] = module->id[0] = 0; /* not the kernel's, even if the rest is malformed */
	const char *name = t.at, *end;
	while (t.at < t.end && (is_word(*t.at) || *t.at == '-'))
		t.at++;
	end = t.at;
	scan_blanks(&t);
	const char *id = t.at, *close = find_text(t.at, t.end, "]");
	if (end == name || !close)
		return;
	module_set_name(module, name, end);
	if (close > id)
		module_set_id(module, id, close);
}

/* " [/opt/example]", as SystemTap writes. */
static bool is_of_program(struct text_scan s)
{
	return scan_lit(&s, " [/");
}

/* The symbol that ends before "+0x" at @plus. */
static bool parse_kernel(const struct log_context *context, struct text_scan line, const char *plus,
			 struct log_frame *ret)
{
	struct text_scan s = scan_from(plus, line.end);
	const char *symbol = plus;
	while (symbol > line.at && is_symbol(symbol[-1]))
		symbol--;
	symbol = after_colour(line.at, symbol, plus);
	*ret = (struct log_frame){.module = context->kernel, .space = FRAME_NAME, .style = STYLE_KERNEL};
	if (symbol == plus || is_digit(*symbol) || plus - symbol >= FILTER_SYMBOL_SIZE ||
	    !scan_lit(&s, "+") || !scan_hex(&s, &ret->address) || !scan_lit(&s, "/") ||
	    !scan_hex(&s, &ret->symbol_size) || ret->address > ret->symbol_size)
		return false;
	strcpy(ret->module.name, "vmlinux");
	ret->module.is_kernel = true;
	ret->symbol_from = ret->from = (uint32_t)(symbol - line.at);
	ret->symbol_to = (uint32_t)(plus - line.at);
	ret->to = (uint32_t)(s.at - line.at);
	enum role role = role_of(line.at, symbol);
	ret->head = role == ROLE_HEAD;
	ret->kind = !ret->address || ret->head ? PC_EXACT : PC_RETURN;
	ret->apart = role == ROLE_APART || is_unreliable(line.at, symbol, s);
	ret->thread = parse_thread(scan_from(line.at, symbol));
	if (is_of_program(s))
		return false;
	ret->silent = has_source_position(s);
	parse_module(&s, &ret->module);
	return true;
}

static size_t find_kernel(const struct log_context *context, struct text_scan line,
			  struct log_frame ret[static LINE_FRAMES_MAX])
{
	size_t n = 0;
	for (const char *p = line.at; n < LINE_FRAMES_MAX && (p = find_hex(p, line.end)); p += 2)
		n += p > line.at && p[-1] == '+' && parse_kernel(context, line, p - 1, &ret[n]);
	return n;
}

/* ---- Other lines ---- */

/* The kernel's build id: the last word that can be one. A banner without one is of another kernel. */
/* The word that ends at @to is the release of the kernel, if it begins like one. */
static void set_release(struct filter_module *kernel, const char *line, const char *to)
{
	const char *from = to;
	while (from > line && !is_blank(from[-1]))
		from--;
	size_t size = (size_t)(to - from);
	if (size >= sizeof(kernel->release) || !size || !is_digit(*from) || memchr(from, '/', size))
		return;
	memcpy(kernel->release, from, size);
	kernel->release[size] = 0;
}

/* "Linux version 6.1.0-13-amd64 (..." of a kernel that boots. */
static void note_boot(struct log_context *context, struct text_scan s)
{
	const char *from = s.at;
	while (s.at < s.end && !is_blank(*s.at))
		s.at++;
	context->kernel = (struct filter_module){.name = "vmlinux", .is_kernel = true};
	set_release(&context->kernel, from, s.at);
	context->kernel_booted = true;
	context->kernel_range.size = 0;
}

/* The number of the kernel's build, "#1", follows the release. A task may be named like one. */
static void find_release(struct filter_module *kernel, const char *from, const char *end)
{
	for (const char *p = from; !kernel->release[0] && (p = find_text(p, end, " #")); p++)
		if (p + 2 < end && is_digit(p[2]))
			set_release(kernel, from, p);
}

static void note_id(struct log_context *context, struct text_scan line, const char *cpu)
{
	const char *comm = find_text(cpu, line.end, " Comm: ");
	if (!comm || !find_text(cpu, comm, " PID: "))
		return;
	context->kernel = (struct filter_module){.name = "vmlinux", .is_kernel = true};
	context->kernel_noted = true;
	find_release(&context->kernel, comm, line.end);
	for (const char *to = line.end, *from; to > comm; to = from - 1) {
		for (from = to; from > comm && hex_value(from[-1]) >= 0;)
			from--;
		if (to - from >= BUILD_ID_DIGITS_MIN && is_blank(from[-1]) &&
		    module_set_id(&context->kernel, from, to))
			break;
	}
}

/* "Kernel Offset: 0x1c000000 from 0xffffffff81000000 (relocation range: ...)" */
static void note_offset(struct log_context *context, struct text_scan s)
{
	uint64_t slide, text;
	if (!scan_lit(&s, " ") || !scan_hex(&s, &slide) || !scan_lit(&s, " from ") || !scan_hex(&s, &text))
		return;
	context->kernel_range =
		(struct kernel_range){.start = text + slide, .size = KERNEL_TEXT_MAX, .slide = slide};
	context->has_places = true;
}

static bool follows(const char *line, const char *at, const char *words)
{
	size_t size = strlen(words);
	return (size_t)(at - line) >= size && memcmp(at - size, words, size) == 0;
}

static int note_kernel(struct log_context *context, struct text_scan line)
{
	for (const char *p = line.at; (p = memchr(p, ':', (size_t)(line.end - p))); p++) {
		if (follows(line.at, p, "CPU") && !context->kernel_noted)
			note_id(context, line, p);
		else if (follows(line.at, p, "Kernel Offset"))
			note_offset(context, scan_from(p + 1, line.end));
	}
	static const char version[] = "Linux version ";
	const char *booted = find_rare(line.at, line.end, version, 0);
	if (booted)
		note_boot(context, scan_from(booted + strlen(version), line.end));
	return 0;
}

/* Whether the line ends with the name of a stack, or its end: "<IRQ>", "</TASK>". */
static bool is_name_of_stack(struct text_scan line)
{
	const char *p = line.end;
	while (p > line.at && is_blank(p[-1]))
		p--;
	if (p == line.at || *--p != '>')
		return false;
	while (p > line.at &&
	       ((p[-1] >= 'A' && p[-1] <= 'Z') || is_digit(p[-1]) || p[-1] == '#' || p[-1] == '_'))
		p--;
	p -= p > line.at && p[-1] == '/';
	return p > line.at && p[-1] == '<';
}

static enum gap kernel_gap(struct text_scan line, uint64_t *ret_thread)
{
	*ret_thread = parse_thread(line);
	if (is_name_of_stack(line))
		return GAP_INSIDE;
	return find_text(line.at, line.end, "---[ ") ? GAP_ENDS : GAP_HEAD;
}

const struct log_format format_kernel = {
	.needs = MARK_PLUS | MARK_HEX, .find = find_kernel, .note = note_kernel, .gap = kernel_gap};
