/*
 * format_shape.c - formats that are a row of a table: what surrounds a hexadecimal number in a line.
 *
 * A template is text with fields:
 *
 *	%m %p %q  a module: a word, a word with a '/', any text that begins with one
 *	%s %w     a function: any text, a word
 *	%n        the number of the frame
 *	%o %d     an offset in the function or module
 *	%a %z     an address in memory, and a number that is not used
 *	%_ %< %>  blanks, and the ends of a word
 *	%$        the end of the line
 *
 * The number itself is what @is says. It is the address in memory where an offset follows in the template.
 */
#include "log/maps/memory_map.h"
#include "log/line/source_position.h"

enum shape_number {
	IS_OFFSET,  /* from the load address of the module */
	IS_LINK,    /* a link-time address, as glibc counts */
	IS_IN_NAME, /* an offset in the function */
	IS_KERNEL,  /* the same in a function of the kernel */
	IS_ADDRESS, /* in memory */
};

enum shape_kind { RETURN, ADJUSTED, EXACT, FIRST_EXACT /* others are return addresses */ };

struct shape {
	const char *before, *after;
	uint8_t before_size;
	uint8_t is;       /* enum shape_number */
	uint8_t kind;     /* enum shape_kind */
	const char *line; /* text that the line has before it; NULL: none */
};

#define SHAPE(before, after, ...)                                    \
	{                                                            \
		"" before, "" after, sizeof(before) - 1, __VA_ARGS__ \
	}

/* By the byte before the number, so that few are tried. A line begins as after a blank. */
static const struct shape after_plus[] =
	{
		/* CPython's faulthandler */
		SHAPE("Binary file \"%m\", at +", " [%a]", IS_OFFSET, RETURN),
		SHAPE("Binary file \"%m\", at %s+", " [%a]", IS_IN_NAME, RETURN),
		SHAPE("Binary file \"%q\", at +", " [%a]", IS_OFFSET, RETURN),
		SHAPE("Binary file \"%q\", at %s+", " [%a]", IS_IN_NAME, RETURN),
		/* Firefox */
		SHAPE("#%n: %s[%q +", "]", IS_OFFSET, RETURN),
		/* HIP */
		SHAPE("%a: %p(+", ")%$", IS_LINK, RETURN),
		SHAPE("%a: %p(%s+", ")%$", IS_IN_NAME, RETURN),
		/* DTrace */
		SHAPE("%<%m`%w+", "%>", IS_IN_NAME, FIRST_EXACT),
		/* FreeBSD */
		SHAPE("#%n %a at %w+", "%$", IS_KERNEL, RETURN),
		SHAPE("() at %w+", "/frame %z", IS_KERNEL, RETURN),
		/* others without a module */
		SHAPE("[%a+", "]%>", IS_ADDRESS, RETURN),
},
			  after_blank[] =
				  {
					  /* PyTorch */
					  SHAPE("frame #%n: <unknown function> + ", " (%a in %q)", IS_LINK,
						RETURN),
					  SHAPE("frame #%n: %s + ", " (%a in %q)", IS_IN_NAME, RETURN),
					  /* Node.js */
					  SHAPE("%<%n: ", "  [%m]%$", IS_ADDRESS, FIRST_EXACT),
					  SHAPE("%<%n: ", " %s [%m]%$", IS_ADDRESS, FIRST_EXACT),
					  /* ClickHouse */
					  SHAPE("%<%n. %s @ ", " in %m%$", IS_ADDRESS, RETURN),
					  SHAPE("%<%n. %s @ ", "%$", IS_ADDRESS, RETURN),
					  /* backward-cpp, which has moved all back into the call */
					  SHAPE("Object \"%m\", at ", ", in%>", IS_ADDRESS, ADJUSTED),
					  SHAPE("Object \"%q\", at ", ", in%>", IS_ADDRESS, ADJUSTED),
					  /* SystemTap */
					  SHAPE("%<", " : %s+%o/%z [%q]", IS_IN_NAME, FIRST_EXACT),
					  /* Zig */
					  SHAPE("%<", " in ??? (%m)%$", IS_ADDRESS, RETURN),
					  /* cpptrace */
					  SHAPE("#%n%_", " in %s at %p%$", IS_ADDRESS, FIRST_EXACT),
					  SHAPE("#%n%_", " at %p%$", IS_ADDRESS, FIRST_EXACT),
					  /* Julia */
					  SHAPE("(ip: ", ") at %m", IS_ADDRESS, RETURN),
					  /* Rust on Windows */
					  SHAPE("%<%n:%_", " - %m!%s%$", IS_ADDRESS, RETURN),
					  /* backtrace_symbols() of macOS */
					  SHAPE("%<%m%_", " %a + %d%$", IS_OFFSET, FIRST_EXACT),
					  SHAPE("%<%m%_", " %s + %d%$", IS_IN_NAME, FIRST_EXACT),
					  /* ESP-IDF, which has moved all back into the call */
					  SHAPE("%_", ":%z%>", IS_ADDRESS, ADJUSTED, "Backtrace:"),
					  /* Zephyr */
					  SHAPE("nstruction address (r15/pc): ", "%>", IS_ADDRESS, EXACT),
},
			  after_bracket[] =
				  {
					  /* CPython's faulthandler, of a program that cannot move */
					  SHAPE("Binary file \"%m\" [", "]", IS_ADDRESS, RETURN),
					  SHAPE("Binary file \"%q\" [", "]", IS_ADDRESS, RETURN),
					  /* compute-sanitizer */
					  SHAPE("Host Frame: %s [", "] in %m", IS_OFFSET, RETURN),
					  SHAPE("Host Frame:%m [", "]", IS_OFFSET, RETURN),
					  /* Ceph */
					  SHAPE("%<%n: (%s) [", "]%$", IS_ADDRESS, RETURN),
					  /* others without a module */
					  SHAPE("%<#%n: [", "]%$", IS_ADDRESS, FIRST_EXACT),
},
			  after_backtick[] = {
				  /* DTrace */
				  SHAPE("%<%m`", "%>", IS_ADDRESS, FIRST_EXACT),
};

static const struct {
	char previous;
	const struct shape *shapes;
	size_t n;
} groups[] = {
	{' ', after_blank, ARRAY_SIZE(after_blank)},
	{'+', after_plus, ARRAY_SIZE(after_plus)},
	{'[', after_bracket, ARRAY_SIZE(after_bracket)},
	{'`', after_backtick, ARRAY_SIZE(after_backtick)},
};

/* A template's fields stand for these. */
struct match {
	const char *line, *end; /* @end: of what was matched */
	struct text_scan module, symbol;
	uint64_t number, offset, address;
	bool has_number, has_offset;
};

/* "%m" and "%p" */
static bool set_word(char field, const char *from, const char *to, struct match *m)
{
	m->module = scan_from(from, to);
	return from < to && (field != 'p' || memchr(from, '/', (size_t)(to - from)));
}

/* ---- After the number ---- */

static bool is_boundary(struct text_scan s)
{
	return s.at == s.end || (!is_word(*s.at) && !memchr("+-/(", *s.at, 4));
}

/* A field that ends by itself. */
static bool scan_field(char field, struct text_scan *s, struct match *m)
{
	const char *from = s->at;
	uint64_t size;
	switch (field) {
	case '_': return scan_blanks(s);
	case '>': return is_boundary(*s);
	case '$': scan_blanks(s); return s->at == s->end;
	case 'z': return scan_hex(s, &size);
	case 'a': return scan_hex(s, &m->address);
	case 'o': return m->has_offset = scan_hex(s, &m->offset);
	case 'd': return m->has_offset = scan_decimal(s, &m->offset);
	default: break;
	}
	while (s->at < s->end && is_module_name(*s->at))
		s->at++;
	return set_word(field, from, s->at, m);
}

static bool match_after(const char *template, struct text_scan s, struct match *m);

/* "%s" or "%q" at @field: ends where the rest of the template matches. */
static bool match_text_after(const char *field, struct text_scan s, struct match *m)
{
	const struct text_scan from = s;
	const char *limit = scan_left(&s) > FILTER_SYMBOL_SIZE ? s.at + FILTER_SYMBOL_SIZE : s.end;
	if (*field == 'q' && s.at < s.end && *s.at != '/')
		return false;
	while (s.at < limit) {
		s.at++;
		if (field[1] != '%' && !(s.at = memchr(s.at, field[1], (size_t)(limit - s.at))))
			return false;
		if (!match_after(field + 1, s, m))
			continue;
		*(*field == 's' ? &m->symbol : &m->module) = scan_from(from.at, s.at);
		return true;
	}
	return false;
}

static bool match_after(const char *template, struct text_scan s, struct match *m)
{
	for (; *template; template ++) {
		if (*template != '%') {
			if (s.at == s.end || *s.at++ != *template)
				return false;
			continue;
		}
		template ++;
		if (*template == 's' || *template == 'q')
			return match_text_after(template, s, m);
		if (!scan_field(*template, &s, m))
			return false;
	}
	m->end = s.at;
	return true;
}

/* ---- Before it ---- */

/* The beginning of the digits that end at @to. */
static const char *digits_before(const char *line, const char *to, bool is_hex)
{
	while (to > line && (is_hex ? hex_value(to[-1]) >= 0 : is_digit(to[-1])))
		to--;
	return to;
}

/* A field that ends at @to and begins by itself; NULL: it does not match. */
static const char *field_before(char field, const char *to, struct match *m)
{
	const char *from = to;
	struct text_scan s;
	switch (field) {
	case '<': return to == m->line || is_blank(to[-1]) ? to : NULL;
	case '_':
		while (from > m->line && is_blank(from[-1]))
			from--;
		return from < to ? from : NULL;
	case 'n':
		from = digits_before(m->line, to, false);
		s = scan_from(from, to);
		m->has_number = scan_decimal(&s, &m->number) && m->number <= UINT32_MAX;
		return m->has_number ? from : NULL;
	case 'a':
		from = digits_before(m->line, to, true) - 2;
		s = scan_from(from, to);
		return from >= m->line && scan_hex(&s, &m->address) ? from : NULL;
	case 'w':
		while (from > m->line && !is_blank(from[-1]) && from[-1] != '`')
			from--;
		m->symbol = scan_from(from, to);
		return from < to ? from : NULL;
	default: break;
	}
	from = module_name_before(m->line, to);
	return set_word(field, from, to, m) ? from : NULL;
}

static bool match_before(const char *begin, const char *end, const char *to, struct match *m);

/* "%s" or "%q": begins where the template before it matches. */
static bool match_text_before(char field, const char *begin, const char *end, const char *to, struct match *m)
{
	const char *from = to;
	while (from > m->line && to - from-- < FILTER_SYMBOL_SIZE) {
		if ((field == 'q' && *from != '/') || !match_before(begin, end, from, m))
			continue;
		*(field == 's' ? &m->symbol : &m->module) = scan_from(from, to);
		return true;
	}
	return false;
}

/* Returns whether the template [@begin, @end) matches what ends at @to. */
static bool match_before(const char *begin, const char *end, const char *to, struct match *m)
{
	while (to && end > begin) {
		char c = *--end;
		if (end == begin || end[-1] != '%') {
			if (to == m->line || *--to != c)
				return false;
			continue;
		}
		end--;
		if (c == 's' || c == 'q')
			return match_text_before(c, begin, end, to, m);
		to = field_before(c, to, m);
	}
	return to;
}

/* ---- Frames ---- */

/* False if nothing tells what is at the address; then its module is known, or none. */
static bool locate(const struct log_context *context, uint64_t address, struct log_frame *ret)
{
	const struct filter_module module = ret->module;
	const struct memory_map *maps[] = {context->mapped, context->given, context->fixed};
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		if (module.name[0] ? memory_map_find_in(maps[i], address, &module, ret)
				   : memory_map_find(maps[i], address, ret)) {
			ret->is_estimate &= !module.name[0]; /* else the line says whose it is */
			return true;
		}
	}
	ret->address = address;
	ret->space = FRAME_LINK;
	return module.name[0] && address < FIXED_MAX;
}

static bool set_place(const struct log_context *context, const struct shape *shape, const struct match *m,
		      uint64_t number, struct log_frame *ret)
{
	bool is_name = shape->is == IS_IN_NAME || shape->is == IS_KERNEL;
	if (m->module.at < m->module.end && !module_set(context, m->module.at, m->module.end, &ret->module))
		return false;
	if (shape->is == IS_KERNEL)
		set_kernel_module(context, &ret->module);
	if (shape->is == IS_ADDRESS) {
		ret->shown = number + m->address;
		ret->unmapped = !locate(context, ret->shown, ret);
		return true;
	}
	ret->address = m->has_offset ? m->offset : number;
	ret->shown = m->has_offset ? number : m->address;
	ret->space = is_name ? FRAME_NAME : shape->is == IS_LINK ? FRAME_LINK : FRAME_RVA;
	if (!is_name)
		return true;
	ret->module.needs_shown = shape->is != IS_KERNEL;
	ret->symbol_from = (uint32_t)(m->symbol.at - m->line);
	ret->symbol_to = (uint32_t)(m->symbol.end - m->line);
	size_t size = scan_left(&m->symbol);
	return size && size < FILTER_SYMBOL_SIZE && !is_blank(*m->symbol.at) && !is_blank(m->symbol.end[-1]);
}

/* A number in a line. */
struct shape_site {
	struct text_scan line, after; /* @after: the line after it */
	const char *at;
	uint64_t number;
};

/* Returns whether what follows the number can be the template's, up to the first field: mostly it is not. */
static bool may_match(const struct shape *shape, const struct shape_site *site)
{
	const char *at = site->after.at, *text = shape->after;
	while (*text && *text != '%' && at < site->after.end && *at == *text) {
		text++;
		at++;
	}
	struct text_scan rest = scan_from(at, site->after.end);
	if (*text != '%')
		return !*text;
	scan_blanks(&rest);
	switch (text[1]) {
	case '$': return rest.at == rest.end;
	case 'a': return at < site->after.end && *at == '0';
	default: return true;
	}
}

static bool parse_shape(const struct log_context *context, const struct shape *shape,
			const struct shape_site *site, struct log_frame *ret)
{
	struct match m = {.line = site->line.at};
	if (!may_match(shape, site) ||
	    !match_before(shape->before, shape->before + shape->before_size, site->at, &m) ||
	    (shape->line && !find_text(site->line.at, site->at, shape->line)) ||
	    !match_after(shape->after, site->after, &m))
		return false;
	*ret = (struct log_frame){.style = STYLE_PLAIN};
	if (!set_place(context, shape, &m, site->number, ret))
		return false;
	ret->named = m.symbol.at < m.symbol.end && !memchr("?<(", *m.symbol.at, 3);
	ret->has_number = m.has_number;
	ret->number = (uint32_t)m.number;
	ret->first_exact = shape->kind == FIRST_EXACT;
	ret->kind = shape->kind == ADJUSTED                                               ? PC_ADJUSTED
		    : shape->kind == EXACT || (ret->space == FRAME_NAME && !ret->address) ? PC_EXACT
											  : PC_RETURN;
	ret->from = ret->to = (uint32_t)(m.end - site->line.at);
	ret->silent = has_source_position(site->line);
	return true;
}

static bool parse_site(const struct log_context *context, struct text_scan line, const char *at,
		       struct log_frame *ret)
{
	struct shape_site site = {.line = line, .at = at, .after = scan_from(at, line.end)};
	char previous = at > line.at ? at[-1] : ' ';
	size_t group = 0;
	while (group < ARRAY_SIZE(groups) && groups[group].previous != previous)
		group++;
	if (group == ARRAY_SIZE(groups) || !scan_hex(&site.after, &site.number))
		return false;
	for (size_t i = 0; i < groups[group].n; i++)
		if (parse_shape(context, &groups[group].shapes[i], &site, ret))
			return true;
	return false;
}

static size_t find_shape(const struct log_context *context, struct text_scan line,
			 struct log_frame ret[static LINE_FRAMES_MAX])
{
	size_t n = 0;
	for (const char *p = line.at; n < LINE_FRAMES_MAX && (p = find_hex(p, line.end)); p += 2)
		if ((!n || (uint32_t)(p - line.at) >= ret[n - 1].to) && parse_site(context, line, p, &ret[n]))
			n++;
	return n;
}

const struct log_format format_shape = {.needs = MARK_HEX, .find = find_shape};
