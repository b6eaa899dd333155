/*
 * format_offset.c - a module's name and an offset in it, whatever surrounds them:
 *
 *	./example(+0x11cc)[0x5581f7f2a1cc]                     backtrace_symbols() of glibc, strace -k
 *	./example(ns::work(int)+0x12) [0x5581f7f2a1cc]         the same with a symbol
 *	./example *:6379(+0x11cc)[0x5581f7f2a1cc]              the same of a server that has set its title
 *	#1  0x00005581f7f2a1cc ... [BUILDID]@0x5581f7f29000+0x11cc     eu-stack -b
 *	example[4711]: segfault at 0 ip .. sp .. error 4 in libexample.so[11cc,7f51c0000000+1000]    Linux
 *	                   ... ip 00007f51c00011cc sp .. error 4 in libexample.so[7f51c0000000+1000]
 *	C  [libexample.so+0x11cc]                              hs_err files of Java
 *	 1  example + 0x11cc                                   minidump_stackwalk
 *	 1  example!ns::work(int) + 0x12
 *	??? (example + 4556) [0x104a7bf50]                     spindump
 *	??? (in example)  load address 0x104a78000 + 0x11cc    sample
 *	=>0 0x7bc011cc in example (+0x11cc)                    Wine
 *	=>0 0x7bc011cc work+0x12(a=1) in example (0x0032fe98)
 *	frame #1: 0x5581f7f2a1cc example`ns::work(int) + 18    LLDB
 *	example!ns::work+0x12                                  WinDbg
 *	(/usr/bin/example+0x11cc)    /usr/bin/example+0x11cc    and others
 *
 * Each form is recognized around the '+' alone. Most offsets are relative to the load address; glibc's count
 * from link-time address 0, Linux's are file offsets.
 */
#include "log/line/log_format.h"
#include "log/line/source_position.h"

/* A '+' with what is around it. */
struct site {
	struct text_scan line;
	const char *plus;
	const char *before;     /* the end of what is before the plus and the blank */
	struct text_scan after; /* the line after the offset */
	uint64_t offset;
	bool spaced, decimal;
};

/* ---- Parts ---- */

static bool is_in(char c, const char *set)
{
	while (*set && *set != c)
		set++;
	return *set;
}

/* The nearest of @open before @to without any of @stops between, or NULL. */
static const char *open_before(const char *line, const char *to, char open, const char *stops)
{
	const char *p = to;
	while (p > line && to - p < FILTER_SYMBOL_SIZE && p[-1] != open && !is_in(p[-1], stops))
		p--;
	return p > line && p[-1] == open ? p - 1 : NULL;
}

static bool set_module(const struct log_context *context, const char *from, const char *to,
		       struct log_frame *ret)
{
	return module_set(context, from, to, &ret->module);
}

static bool ends_with(const char *line, const char *to, const char *text)
{
	size_t size = strlen(text);
	return (size_t)(to - line) >= size && memcmp(to - size, text, size) == 0;
}

/* " [0x5581f7f2a1cc]" or without the blank. */
static bool scan_bracketed(struct text_scan *s, uint64_t *ret)
{
	struct text_scan t = *s;
	scan_blanks(&t);
	if (!scan_lit(&t, "[") || !scan_hex(&t, ret) || !scan_lit(&t, "]"))
		return false;
	*s = t;
	return true;
}

/* The answer follows at @at. */
static bool place(const struct site *site, const char *at, struct log_frame *ret)
{
	ret->from = ret->to = (uint32_t)(at - site->line.at);
	return true;
}

/* ---- Forms ---- */

/* The '(' before @to that no ')' before it closes, or NULL. Demangled names have pairs of them. */
static const char *unclosed_before(const char *line, const char *to)
{
	size_t closed = 0;
	for (const char *p = to; p > line && to - p < FILTER_SYMBOL_SIZE; p--) {
		if (p[-1] == '(' && !closed--)
			return p - 1;
		closed += p[-1] == ')';
	}
	return NULL;
}

/* "127.0.0.1:6379", "*:6379": the address that a server listens at. */
static bool is_listener(struct text_scan word)
{
	const char *colon = memrchr(word.at, ':', scan_left(&word));
	struct text_scan port = scan_from(colon ? colon + 1 : word.end, word.end);
	uint64_t number;
	return colon > word.at && scan_decimal(&port, &number) && port.at == port.end;
}

/*
 * The program, if the text before @open is a title that it gave itself: "postgres: user db [local] SELECT",
 * "./valkey-server *:6379 [cluster]". Else the name before @open.
 */
static struct text_scan program_before(const char *line, const char *open)
{
	struct text_scan s = scan_from(line, open), first, second;
	const struct text_scan name = scan_from(module_name_before(line, open), open);
	if (memchr(name.at, '/', scan_left(&name)) || !scan_token(&s, &first) || !scan_token(&s, &second) ||
	    is_digit(*first.at) || (*first.at >= 'A' && *first.at <= 'Z'))
		return name;
	bool has_colon = first.end[-1] == ':';
	bool more = second.end < open; /* "log: example(" has a program after the colon */
	if (has_colon ? !more && name.at < open : !is_listener(second))
		return name;
	return scan_from(first.at, first.end - has_colon);
}

/* "example(+0x11cc)[0x5581f7f2a1cc]", "example(ns::work(int)+0x12) [0x5581f7f2a1cc]". */
static bool glibc(const struct log_context *context, const struct site *site, struct log_frame *ret)
{
	struct text_scan s = site->after;
	const char *open = unclosed_before(site->line.at, site->plus);
	if (!open || site->spaced || site->decimal || !scan_lit(&s, ")") || !scan_bracketed(&s, &ret->shown))
		return false;
	const struct text_scan program = program_before(site->line.at, open);
	if (!set_module(context, program.at, program.end, ret))
		return false;
	ret->space = open + 1 == site->plus ? FRAME_LINK : FRAME_NAME;
	ret->module.needs_shown = ret->space == FRAME_NAME; /* also for symbols with a version */
	ret->symbol_from = (uint32_t)(open + 1 - site->line.at);
	ret->symbol_to = (uint32_t)(site->plus - site->line.at);
	ret->kind = ret->space == FRAME_NAME && !site->offset ? PC_EXACT : PC_RETURN;
	return site->plus - open < FILTER_SYMBOL_SIZE && place(site, s.at, ret);
}

/* "in example (+0x11cc)". */
static bool wine(const struct log_context *context, const struct site *site, struct log_frame *ret)
{
	struct text_scan s = site->after;
	const char *line = site->line.at, *to = site->plus - 2, *from;
	if (site->spaced || site->decimal || site->plus - line < 6 || site->plus[-1] != '(' || *to != ' ' ||
	    !scan_lit(&s, ")"))
		return false;
	from = module_name_before(line, to);
	ret->first_exact = true;
	if (!ends_with(line, from, " in ") || !set_module(context, from, to, ret))
		return false;
	ret->module.is_windows = true;
	return place(site, s.at, ret);
}

/* "work+0x12(a=1) in example (0x0032fe98)". */
static bool wine_symbol(const struct log_context *context, const struct site *site, struct log_frame *ret)
{
	const char *line = site->line.at, *from = module_name_before(line, site->plus), *to;
	const char *in = find_text(site->after.at, site->line.end, " in ");
	struct text_scan s = scan_from(in ? in + strlen(" in ") : site->line.end, site->line.end);
	if (site->spaced || site->decimal || !in || from == site->plus || from - line < 4 ||
	    from[-1] != ' ' || site->plus - from >= FILTER_SYMBOL_SIZE ||
	    has_source_position(scan_from(site->after.at, in)))
		return false;
	for (to = s.at; to < s.end && is_module_name(*to);)
		to++;
	s.at = to;
	if (!scan_lit(&s, " (0x") || !set_module(context, in + strlen(" in "), to, ret))
		return false;
	ret->space = FRAME_NAME;
	ret->module.needs_shown = ret->module.is_windows = ret->first_exact = true;
	ret->symbol_from = (uint32_t)(from - line);
	ret->symbol_to = (uint32_t)(site->plus - line);
	ret->kind = !site->offset ? PC_EXACT : ret->kind;
	return place(site, to, ret);
}

/* "(example+0x11cc)", "(example + 0x11cc)", "(example + 4556) [0x104a7bf50]". */
static bool in_parentheses(const struct log_context *context, const struct site *site, struct log_frame *ret)
{
	uint64_t memory;
	struct text_scan s = site->after;
	const char *open = open_before(site->line.at, site->before, '(', "()");
	if (!open || (open > site->line.at && !is_blank(open[-1])) || !scan_lit(&s, ")") ||
	    (site->decimal && (!site->spaced || !scan_bracketed(&s, &memory))) ||
	    !set_module(context, open + 1, site->before, ret))
		return false;
	scan_build_id(&s, &ret->module);
	ret->first_exact = true;
	return place(site, s.at, ret);
}

/* "[example+0x11cc]". */
static bool in_brackets(const struct log_context *context, const struct site *site, struct log_frame *ret)
{
	struct text_scan s = site->after;
	const char *open = open_before(site->line.at, site->plus, '[', "[] ");
	if (!open || site->spaced || site->decimal || !scan_lit(&s, "]") ||
	    !set_module(context, open + 1, site->plus, ret))
		return false;
	ret->first_exact = true;
	return place(site, s.at, ret);
}

/* "[BUILDID]@0x5581f7f29000+0x11cc": return addresses are moved back into the call. */
static bool at_load_address(const struct log_context *context, const struct site *site, struct log_frame *ret)
{
	const char *line = site->line.at, *from = module_name_before(line, site->plus);
	const char *close = from - 1, *open;
	struct text_scan s = scan_from(from, site->plus);
	uint64_t load;
	if (site->spaced || site->decimal || !scan_lit(&s, "@") || !scan_hex(&s, &load) ||
	    s.at != site->plus || close < line || *close != ']' ||
	    !(open = open_before(line, close, '[', "] ")) || !set_module(context, open + 1, close, ret))
		return false;
	ret->kind = PC_ADJUSTED;
	return place(site, site->after.at, ret);
}

/* "(in example)  load address 0x104a78000 + 0x11cc  [0x104a7bf50]" */
static bool sample(const struct log_context *context, const struct site *site, struct log_frame *ret)
{
	static const char words[] = "  load address ";
	const char *line = site->line.at, *from = module_name_before(line, site->before);
	uint64_t memory;
	struct text_scan s = scan_from(from, site->before);
	uint64_t load;
	if (!site->spaced || site->decimal || !scan_hex(&s, &load) || !ends_with(line, from, words))
		return false;
	const char *close = from - strlen(words) - 1;
	const char *open = close > line && *close == ')' ? open_before(line, close, '(', ")") : NULL;
	if (!open || close - open < 4 || memcmp(open, "(in ", 4) != 0 ||
	    !set_module(context, open + 4, close, ret))
		return false;
	s = site->after;
	scan_bracketed(&s, &memory);
	ret->first_exact = true;
	return place(site, s.at, ret);
}

/* "frame #1: " anywhere before @to. */
static void parse_number(struct text_scan line, const char *to, struct log_frame *ret)
{
	const char *at = find_rare(line.at, to, "frame #", strlen("frame "));
	struct text_scan s = scan_from(at ? at + strlen("frame #") : to, to);
	uint64_t number;
	if (!scan_decimal(&s, &number) || number > UINT32_MAX)
		return;
	ret->number = (uint32_t)number;
	ret->has_number = true;
	ret->first_exact = false;
	ret->kind = number ? PC_RETURN : PC_EXACT;
}

/* Whether the text may be the name of a function, demangled or not. Only one with brackets has blanks. */
static bool is_function(const char *from, const char *to)
{
	size_t size = (size_t)(to - from);
	struct text_scan s = scan_from(from, to);
	return size && size < FILTER_SYMBOL_SIZE && !is_blank(*from) && !is_blank(to[-1]) &&
	       !scan_lit(&s, "___lldb_unnamed_symbol") && /* has a number of its own */
	       (!memchr(from, ' ', size) || memchr(from, '(', size) || memchr(from, '<', size) ||
		find_text(from, to, "operator "));
}

/* " 1  " and nothing else up to @to: of minidump_stackwalk, which moves return addresses back into calls. */
static bool parse_first_number(const struct site *site, const char *to, struct log_frame *ret)
{
	struct text_scan s = site->line;
	uint64_t number;
	scan_blanks(&s);
	if (!scan_decimal(&s, &number) || number > UINT32_MAX || !scan_blanks(&s) || s.at != to)
		return false;
	ret->number = (uint32_t)number;
	ret->has_number = true;
	ret->first_exact = false;
	ret->kind = number ? PC_ADJUSTED : PC_EXACT;
	return true;
}

/* "example`ns::work(int) + 18", "example!ns::work+0x12", " 1  example!ns::work(int) + 0x12". */
static bool with_symbol(const struct log_context *context, const struct site *site, struct log_frame *ret)
{
	char mark = site->decimal ? '`' : '!';
	const char *open =
		site->spaced || !site->decimal ? open_before(site->line.at, site->before, mark, "\t") : NULL;
	const char *symbol = open ? open + 1 : site->before;
	if (!is_function(symbol, site->before))
		return false;
	const char *from = module_name_before(site->line.at, open);
	if (!set_module(context, from, open, ret))
		return false;
	ret->space = FRAME_NAME;
	ret->module.needs_shown = true;
	ret->module.is_windows = mark == '!';
	ret->symbol_from = (uint32_t)(symbol - site->line.at);
	ret->symbol_to = (uint32_t)(site->before - site->line.at);
	ret->first_exact = true;
	parse_number(site->line, symbol, ret);
	if (site->spaced && !site->decimal && !parse_first_number(site, from, ret))
		return false;
	ret->kind = !site->offset ? PC_EXACT : ret->kind;
	return place(site, site->after.at, ret);
}

/* " 1  example + 0x11cc", and nothing else. */
static bool numbered(const struct log_context *context, const struct site *site, struct log_frame *ret)
{
	struct text_scan rest = site->after;
	const char *from = module_name_before(site->line.at, site->before);
	scan_blanks(&rest);
	return site->spaced && !site->decimal && parse_first_number(site, from, ret) && rest.at == rest.end &&
	       set_module(context, from, site->before, ret) && place(site, site->after.at, ret);
}

/* Whether it is the part or copy of a function, as compilers name them. */
static bool is_part(const char *name, size_t size)
{
	static const char *const endings[] = {".cold",  ".part.", ".constprop.",
					      ".isra.", ".llvm.", ".lto_priv."};
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (find_text(name, name + size, endings[i]))
			return true;
	return false;
}

/* A word without '/' and '.' may be anything, for example a function. */
static bool alone(const struct log_context *context, const struct site *site, struct log_frame *ret)
{
	const char *from = module_name_before(site->line.at, site->plus);
	size_t size = (size_t)(site->plus - from);
	if (site->spaced || site->decimal || !set_module(context, from, site->plus, ret))
		return false;
	ret->module.is_word = !memchr(from, '/', size) && (!memchr(from, '.', size) || is_part(from, size));
	ret->first_exact = true;
	/* "example+0x11cc: mov ...", where a program stopped; "example+0x11cc: runtime error" */
	if (site->after.at < site->after.end && *site->after.at == ':') {
		ret->apart = true;
		ret->kind = PC_EXACT;
	}
	return place(site, site->after.at, ret);
}

/* ---- Segmentation faults of Linux ---- */

/* The instruction pointer: " ip 00007f51c00011cc", or " ip:7f51c00011cc". */
static bool find_instruction(struct text_scan line, uint64_t *ret)
{
	const char *at = find_text(line.at, line.end, " ip");
	struct text_scan s = scan_from(at ? at + strlen(" ip") : line.end, line.end);
	return (scan_lit(&s, " ") || scan_lit(&s, ":")) && scan_digits(&s, 1, ret);
}

/*
 * "[11cc,7f51c0000000+1000]": a file offset, and a mapping. Older kernels have "[7f51c0000000+1000]": the
 * mapping alone, which is that of the code.
 */
static bool scan_mapping(struct text_scan line, struct text_scan s, uint64_t size, struct log_frame *ret)
{
	uint64_t first, start;
	if (!scan_digits(&s, 1, &first))
		return false;
	if (scan_lit(&s, ",")) {
		ret->space = FRAME_FILE;
		ret->address = first;
		return scan_digits(&s, 1, &start) && s.at == s.end;
	}
	ret->space = FRAME_CODE;
	ret->code_size = size;
	if (s.at != s.end || !find_instruction(line, &ret->address))
		return false;
	ret->address -= first;
	return ret->address < size;
}

/* "in libexample.so[11cc,7f51c0000000+1000]" */
static bool segfault(const struct log_context *context, struct text_scan line, const char *plus,
		     struct log_frame *ret)
{
	struct text_scan after = scan_from(plus + 1, line.end);
	const char *open = open_before(line.at, plus, '[', "[] ");
	uint64_t size;
	if (!open || !scan_digits(&after, 1, &size) || !scan_lit(&after, "]") ||
	    !scan_mapping(line, scan_from(open + 1, plus), size, ret))
		return false;
	const char *from = module_name_before(line.at, open);
	if (!ends_with(line.at, from, " in ") || !set_module(context, from, open, ret))
		return false;
	ret->kind = PC_EXACT;
	ret->from = ret->to = (uint32_t)(after.at - line.at);
	return true;
}

/* ---- Lines ---- */

static bool parse_site(struct text_scan line, const char *plus, struct site *ret)
{
	*ret = (struct site){
		.line = line, .plus = plus, .before = plus, .after = scan_from(plus + 1, line.end)};
	ret->spaced = plus > line.at && plus[-1] == ' ' && scan_lit(&ret->after, " ");
	ret->before -= ret->spaced;
	if (!scan_hex(&ret->after, &ret->offset)) {
		ret->decimal = true;
		if (!scan_decimal(&ret->after, &ret->offset))
			return false;
	}
	char next = ret->after.at < line.end ? *ret->after.at : 0;
	return !is_word(next) && next != '/' && next != '.' && next != '+';
}

static bool parse_offset_frame(const struct log_context *context, struct text_scan line, const char *plus,
			       struct log_frame *ret)
{
	static bool (*const forms[])(const struct log_context *context, const struct site *site,
				     struct log_frame *ret) = {
		glibc,          wine,        wine_symbol, at_load_address, sample,
		in_parentheses, in_brackets, with_symbol, numbered,        alone};
	struct site site;
	*ret = (struct log_frame){.style = STYLE_PLAIN};
	if (segfault(context, line, plus, ret))
		return true;
	if (!parse_site(line, plus, &site))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		*ret = (struct log_frame){
			.address = site.offset, .space = FRAME_RVA, .style = STYLE_PLAIN, .kind = PC_RETURN};
		if (forms[i](context, &site, ret))
			return true;
	}
	return false;
}

/* Words count only if the line has no module that is certainly one. */
static size_t drop_words(struct log_frame *frames, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (!frames[i].module.is_word)
			frames[kept++] = frames[i];
	return kept ? kept : n;
}

/* Whether the text around the word of the module, up to the next frame, tells file and line already. */
static bool is_known(struct text_scan line, const struct log_frame *frame, const struct log_frame *next)
{
	const char *plus = memrchr(line.at, '+', frame->to);
	const char *word = plus;
	while (word > line.at && is_blank(word[-1]))
		word--;
	while (word > line.at && !is_blank(word[-1]))
		word--;
	return ends_with_source_position(scan_from(line.at, word)) ||
	       has_source_position(scan_from(line.at + frame->to, next ? line.at + next->from : line.end));
}

static size_t find_offset(const struct log_context *context, struct text_scan line,
			  struct log_frame ret[static LINE_FRAMES_MAX])
{
	size_t n = 0;
	for (const char *p = line.at; n < LINE_FRAMES_MAX && (p = memchr(p, '+', (size_t)(line.end - p)));
	     p++)
		if ((!n || (uint32_t)(p - line.at) >= ret[n - 1].to) &&
		    parse_offset_frame(context, line, p, &ret[n]))
			n++;
	n = drop_words(ret, n);
	for (size_t i = 0; i < n; i++)
		ret[i].silent = is_known(line, &ret[i], i + 1 < n ? &ret[i + 1] : NULL);
	return n;
}

const struct log_format format_offset = {.needs = MARK_PLUS, .find = find_offset};
