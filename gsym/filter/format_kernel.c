/*
 * Oopses, warnings and traces of the Linux kernel: "func+0x12/0x40", the offset and size of a function of the kernel, or with
 * "[module]" or "[module BUILDID]" behind it, of a module. The kernel's own build id ends the line
 *
 *	CPU: 3 PID: 1234 Comm: cat Not tainted 6.1.0 #1 0123456789abcdef0123456789abcdef01234567
 *
 * if it was built with CONFIG_STACKTRACE_BUILD_ID, as the ids of modules are then there.
 */
#include "format.h"

enum { BUILD_ID_DIGITS_MIN = 32 };

static bool is_symbol(char c)
{
	return is_word(c) || c == '.' || c == '$';
}

/* Whether what stands before a symbol says that it is where the processor was, not where a call returns to. */
static bool is_exact(const char *line, const char *symbol)
{
	static const char *const words[] = {"RIP: ", "EIP: ", "IP: ", "pc : ", "PC is at ", "NIP [", "epc : ", " at "};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (find_text(line, symbol, words[i]))
			return true;
	return false;
}

/* " [module]" or " [module BUILDID]", perhaps with flags of taint. */
static void parse_module(struct scan *s, struct filter_module *module)
{
	struct scan t = *s;
	if (!scan_lit(&t, " ["))
		return;
	const char *name = t.at, *end;
	while (t.at < t.end && (is_word(*t.at) || *t.at == '-'))
		t.at++;
	end = t.at;
	scan_blanks(&t);
	const char *id = t.at, *close = find_text(t.at, t.end, "]");
	if (end == name || !close)
		return;
	module_set_name(module, name, end);
	module->id[0] = 0;
	if (close > id)
		module_set_id(module, id, close);
}

/* The symbol that ends before "+0x" at @plus. */
static bool parse(const struct context *context, struct scan line, const char *plus, struct frame *ret)
{
	struct scan s = scan_from(plus, line.end);
	const char *symbol = plus;
	while (symbol > line.at && is_symbol(symbol[-1]))
		symbol--;
	*ret = (struct frame){.module = context->kernel, .space = FRAME_NAME, .style = STYLE_KERNEL};
	if (symbol == plus || is_digit(*symbol) || plus - symbol >= SYMBOL_SIZE || !scan_lit(&s, "+") ||
	    !scan_hex(&s, &ret->address) || !scan_lit(&s, "/") || !scan_hex(&s, &ret->symbol_size) ||
	    ret->address > ret->symbol_size)
		return false;
	strcpy(ret->module.name, "vmlinux");
	ret->symbol_from = ret->from = (uint32_t)(symbol - line.at);
	ret->symbol_to = (uint32_t)(plus - line.at);
	ret->to = ret->tail = (uint32_t)(s.at - line.at);
	ret->kind = !ret->address || is_exact(line.at, symbol) ? WALK_EXACT : WALK_RETURN;
	ret->apart = symbol - line.at >= 2 && memcmp(symbol - 2, "? ", 2) == 0; /* found on the stack, and perhaps old */
	parse_module(&s, &ret->module);
	return true;
}

static size_t find(const struct context *context, struct scan line, struct frame ret[static LINE_FRAMES_MAX])
{
	size_t n = 0;
	for (const char *p = line.at; n < LINE_FRAMES_MAX && (p = find_text(p, line.end, "+0x")); p += 3)
		n += parse(context, line, p, &ret[n]);
	return n;
}

static int note(struct context *context, struct scan line)
{
	const char *cpu = find_text(line.at, line.end, "CPU: "), *word = line.end;
	if (!cpu || !find_text(cpu, line.end, " PID: ") || !find_text(cpu, line.end, " Comm: "))
		return 0;
	while (word > cpu && hex_value(word[-1]) >= 0)
		word--;
	struct filter_module kernel = {.name = "vmlinux"};
	if (word[-1] == ' ' && line.end - word >= BUILD_ID_DIGITS_MIN && module_set_id(&kernel, word, line.end))
		context->kernel = kernel;
	return 0;
}

const struct format format_kernel = {find, note};
