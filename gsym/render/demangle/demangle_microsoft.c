/*
 * demangle_microsoft.c - the names alone of Microsoft's functions, for builds without LLVM's demangler.
 *
 * A name is "?", an identifier, the scopes that it is in from the inside out, each ended by "@", another "@",
 * and the type: "?f@S@ns@@YAXH@Z" is ns::S::f. A digit stands for one of the first ten names before it. Types
 * are not read, so that result and parameters are left out, and arguments of templates are "<...>". What
 * follows these in the mangled name, the scopes around, is left out as well: "?f@?$A@H@ns@@YAXXZ" is
 * A<...>::f. So are those around what is local to a function.
 */
#include "gsym/render/demangle/demangle_parts.h"

#include "gsym/base/vec.h"

#include <string.h>

enum {
	PARTS_MAX = 32,
	NAMES_MAX = 10, /* that digits stand for */
};

struct part {
	const char *text;
	size_t size;
	bool has_arguments; /* it is a template */
};

struct microsoft_name {
	const char *at;               /* what is not read yet */
	char special;                 /* '0' for a constructor, '1' for a destructor, else 0 */
	struct part parts[PARTS_MAX]; /* from the inside out */
	struct part names[NAMES_MAX]; /* those before @at that are no templates */
	size_t n_parts, n_names;
};

/* Identifiers that are "?" and a code. Only codes of functions are here. */
static const struct {
	const char *code, *text;
} specials[] = {
	{"2", "operator new"},
	{"3", "operator delete"},
	{"4", "operator="},
	{"5", "operator>>"},
	{"6", "operator<<"},
	{"7", "operator!"},
	{"8", "operator=="},
	{"9", "operator!="},
	{"A", "operator[]"},
	{"B", "operator cast"},
	{"C", "operator->"},
	{"D", "operator*"},
	{"E", "operator++"},
	{"F", "operator--"},
	{"G", "operator-"},
	{"H", "operator+"},
	{"I", "operator&"},
	{"J", "operator->*"},
	{"K", "operator/"},
	{"L", "operator%"},
	{"M", "operator<"},
	{"N", "operator<="},
	{"O", "operator>"},
	{"P", "operator>="},
	{"Q", "operator,"},
	{"R", "operator()"},
	{"S", "operator~"},
	{"T", "operator^"},
	{"U", "operator|"},
	{"V", "operator&&"},
	{"W", "operator||"},
	{"X", "operator*="},
	{"Y", "operator+="},
	{"Z", "operator-="},
	{"_0", "operator/="},
	{"_1", "operator%="},
	{"_2", "operator>>="},
	{"_3", "operator<<="},
	{"_4", "operator&="},
	{"_5", "operator|="},
	{"_6", "operator^="},
	{"_D", "`vbase dtor'"},
	{"_E", "`vector deleting dtor'"},
	{"_F", "`default ctor closure'"},
	{"_G", "`scalar deleting dtor'"},
	{"_H", "`vector ctor iterator'"},
	{"_I", "`vector dtor iterator'"},
	{"_U", "operator new[]"},
	{"_V", "operator delete[]"},
	{"__E", "`dynamic initializer'"},
	{"__F", "`dynamic atexit destructor'"},
	{"__L", "operator co_await"},
	{"__M", "operator<=>"},
};

static bool add_part(struct microsoft_name *m, struct part part)
{
	bool ok = part.size && m->n_parts < PARTS_MAX;
	if (ok)
		m->parts[m->n_parts++] = part;
	return ok;
}

/* Takes what ends with "@". */
static struct part take_text(struct microsoft_name *m)
{
	const char *end = strchr(m->at, '@');
	struct part part = {.text = m->at, .size = end ? (size_t)(end - m->at) : 0};
	m->at += end ? part.size + 1 : 0;
	return part;
}

static bool add_name(struct microsoft_name *m, struct part part)
{
	if (m->n_names < NAMES_MAX)
		m->names[m->n_names++] = part;
	return add_part(m, part);
}

/* The template whose name follows, of which the arguments end somewhere. */
static bool add_template(struct microsoft_name *m)
{
	struct part part = take_text(m);
	part.has_arguments = true;
	m->at = "@";
	return add_part(m, part);
}

static bool read_special(struct microsoft_name *m)
{
	if (*m->at == '0' || *m->at == '1') {
		m->special = *m->at++;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(specials); i++) {
		size_t size = strlen(specials[i].code);
		if (strncmp(m->at, specials[i].code, size) != 0)
			continue;
		m->at += size;
		const char *text = specials[i].text;
		return add_part(m, (struct part){.text = text, .size = strlen(text)});
	}
	return false;
}

static bool read_identifier(struct microsoft_name *m)
{
	if (*m->at != '?')
		return add_name(m, take_text(m));
	bool is_template = *++m->at == '$';
	m->at += is_template;
	if (is_template && *m->at != '?')
		return add_template(m);
	m->at += is_template;
	if (!read_special(m))
		return false;
	if (is_template) { /* of a constructor the class is behind the arguments */
		m->parts[0].has_arguments = true;
		m->at = "@";
	}
	return true;
}

static bool read_scope(struct microsoft_name *m)
{
	static const struct part unnamed = {.text = "`anonymous namespace'", .size = 21};
	if (*m->at >= '0' && *m->at <= '9') {
		size_t i = (size_t)(*m->at++ - '0');
		return i < m->n_names && add_part(m, m->names[i]);
	}
	if (*m->at != '?')
		return add_name(m, take_text(m));
	if (m->at[1] == '$') {
		m->at += 2;
		return add_template(m);
	}
	if (m->at[1] == 'A')
		return take_text(m).size && add_name(m, unnamed);
	m->at = "@"; /* the function that it is local to */
	return true;
}

static bool read_name(struct microsoft_name *m)
{
	if (*m->at++ != '?' || !read_identifier(m))
		return false;
	while (*m->at != '@')
		if (!read_scope(m))
			return false;
	return m->n_parts > 0;
}

static void append_part(struct text_buf *out, const struct part *part)
{
	text_bytes(out, part->text, part->size);
	if (part->has_arguments)
		text_lit(out, "<...>");
}

bool demangle_append_microsoft(struct text_buf *out, const char *name, size_t max)
{
	struct microsoft_name m = {.at = name};
	if (!read_name(&m))
		return false;
	size_t size = m.parts[0].size;
	for (size_t i = 0; i < m.n_parts; i++)
		size += m.parts[i].size + sizeof("::<...>");
	if (size > max)
		return false;
	for (size_t i = m.n_parts; i-- > 0;) {
		append_part(out, &m.parts[i]);
		if (i)
			text_lit(out, "::");
	}
	if (m.special) { /* it has the name of its class */
		text_str(out, m.special == '0' ? "::" : "::~");
		text_bytes(out, m.parts[0].text, m.parts[0].size);
	}
	return true;
}
