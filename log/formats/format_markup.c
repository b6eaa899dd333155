/*
 * format_markup.c - LLVM's symbolizer markup: {{{tag:field:...}}}. Modules and their mappings are declared by
 *
 *	{{{reset}}} {{{module:0:libexample.so:elf:0123...}}} {{{mmap:0x7f0000:0x1000:load:0:rx:0x1000}}}
 *
 * and {{{bt:0:0x7f0123}}}, {{{pc:0x7f0123}}} and {{{symbol:_Z1fv}}} are to be replaced.
 */
#include "log/line/log_format.h"

enum {
	FIELDS_MAX = 8,
	MAPPINGS_MAX = 8192,
};

struct element {
	const char *from, *to; /* with the braces */
	struct text_scan fields[FIELDS_MAX];
	size_t n;
};

/* The next element at or after @s->at. */
static bool next_element(struct text_scan *s, struct element *ret)
{
	ret->from = find_text(s->at, s->end, "{{{");
	const char *end = ret->from ? find_text(ret->from, s->end, "}}}") : NULL;
	if (!end)
		return false;
	ret->to = s->at = end + 3;
	ret->n = 0;
	for (const char *p = ret->from + 3, *colon; ret->n < FIELDS_MAX; p = colon + 1) {
		colon = find_text(p, end, ":");
		ret->fields[ret->n++] = scan_from(p, colon ? colon : end);
		if (!colon)
			break;
	}
	return true;
}

static bool is_word_of(const struct element *e, size_t field, const char *word)
{
	size_t size = strlen(word);
	return field < e->n && scan_left(&e->fields[field]) == size &&
	       memcmp(e->fields[field].at, word, size) == 0;
}

/* Hexadecimal with "0x", else decimal. */
static bool number(const struct element *e, size_t field, uint64_t *ret)
{
	if (field >= e->n)
		return false;
	struct text_scan s = e->fields[field];
	return (scan_hex(&s, ret) || scan_decimal(&s, ret)) && s.at == s.end;
}

/* ---- Frames ---- */

/* Translates an address in memory to a module and an address in it. */
static bool locate_plain(const struct log_context *context, uint64_t address, struct log_frame *frame)
{
	for (size_t i = context->mappings.n; i-- > 0;) {
		const struct log_mapping *m = &context->mappings.v[i];
		const struct log_module *module;
		if (address - m->start >= m->size || !(module = modules_by_key(&context->markup, m->key)))
			continue;
		frame->module = module->is;
		frame->address = address - m->start + m->relative;
		return true;
	}
	return false;
}

static bool locate_mapping(const struct log_context *context, uint64_t address, struct log_frame *frame)
{
	uint64_t plain;
	for (unsigned i = 0; address_form(address, i, &plain); i++)
		if (locate_plain(context, plain, frame))
			return true;
	return false;
}

static bool code(const struct log_context *context, const struct element *e, size_t field, uint8_t kind,
		 struct log_frame *ret)
{
	if (!number(e, field, &ret->shown) || !locate_mapping(context, ret->shown, ret))
		return false;
	if (is_word_of(e, field + 1, "ra"))
		kind = PC_RETURN;
	else if (is_word_of(e, field + 1, "pc"))
		kind = PC_EXACT;
	ret->kind = kind;
	return true;
}

static bool backtrace(const struct log_context *context, const struct element *e, struct log_frame *ret)
{
	uint64_t frame;
	if (!number(e, 1, &frame) || frame > UINT32_MAX)
		return false;
	ret->style = STYLE_BACKTRACE;
	ret->number = (uint32_t)frame;
	ret->has_number = true;
	return code(context, e, 2, PC_RETURN, ret); /* the default: most are return addresses */
}

static bool parse_markup(const struct log_context *context, struct text_scan line, const struct element *e,
			 struct log_frame *ret)
{
	*ret = (struct log_frame){.space = FRAME_LINK, .style = STYLE_PC, .apart = true};
	ret->from = (uint32_t)(e->from - line.at);
	ret->to = (uint32_t)(e->to - line.at);
	if (is_word_of(e, 0, "bt")) {
		ret->apart = false;
		return backtrace(context, e, ret);
	}
	if (is_word_of(e, 0, "pc"))
		return code(context, e, 1, PC_EXACT, ret);
	if (!is_word_of(e, 0, "symbol") || e->n != 2 || e->fields[1].at == e->fields[1].end)
		return false;
	ret->space = FRAME_MANGLED;
	ret->style = STYLE_SYMBOL;
	ret->symbol_from = (uint32_t)(e->fields[1].at - line.at);
	ret->symbol_to = (uint32_t)(e->fields[1].end - line.at);
	return true;
}

static size_t find_markup(const struct log_context *context, struct text_scan line,
			  struct log_frame ret[static LINE_FRAMES_MAX])
{
	struct text_scan s = line;
	struct element e;
	size_t n = 0;
	while (n < LINE_FRAMES_MAX && next_element(&s, &e))
		n += parse_markup(context, line, &e, &ret[n]);
	return n;
}

/* ---- Modules ---- */

static int add_module(struct log_context *context, const struct element *e)
{
	struct log_module module = {.key = 0};
	if (e->n < 5 || !number(e, 1, &module.key) || !is_word_of(e, 3, "elf") ||
	    !module_set_id(&module.is, e->fields[4].at, e->fields[4].end))
		return 0;
	module_set_name(&module.is, e->fields[2].at, e->fields[2].end);
	return modules_add(&context->markup, &module, true);
}

static int add_mapping(struct log_context *context, const struct element *e)
{
	struct log_mapping m;
	if (!number(e, 1, &m.start) || !number(e, 2, &m.size) || !is_word_of(e, 3, "load") ||
	    !number(e, 4, &m.key) || !number(e, 6, &m.relative))
		return 0;
	for (size_t i = 0; i < context->mappings.n; i++) {
		if (context->mappings.v[i].start == m.start) {
			context->mappings.v[i] = m;
			return 0;
		}
	}
	return context->mappings.n < MAPPINGS_MAX ? vec_push(&context->mappings, m) : 0;
}

static int note_markup(struct log_context *context, struct text_scan line)
{
	struct element e;
	int err = 0;
	while (!err && next_element(&line, &e)) {
		if (is_word_of(&e, 0, "reset"))
			context->mappings.n = context->markup.list.n = 0;
		else if (is_word_of(&e, 0, "module"))
			err = add_module(context, &e);
		else if (is_word_of(&e, 0, "mmap"))
			err = add_mapping(context, &e);
	}
	return err;
}

const struct log_format format_markup = {
	.needs = MARK_BRACES, .note_needs = MARK_BRACES, .find = find_markup, .note = note_markup};
