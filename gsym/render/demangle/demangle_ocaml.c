/*
 * demangle_ocaml.c - names of OCaml's native code.
 *
 * A name is "caml", the path of the unit, a separator, the identifier, and "_" with a number that tells
 * identifiers of one spelling apart. Up to OCaml 5.0 the separator is "__", which also stands in paths
 * ("Stdlib__List" is Stdlib.List); then it is "." or, with MSVC and from 5.4 on Apple's systems, "$". Other
 * bytes than letters, digits and "_" are "$" and two hexadecimal digits, or "$$" where the separator is "$".
 * "__" may stand within identifiers, too: where the path ends there is a guess, of which the rule is that
 * modules begin with a capital.
 *
 * A name without the number is left alone, since it may be one of C, unless it is one that the compiler gives
 * to each unit. The number is not shown, but of "fun", as functions without a name are called.
 */
#include "gsym/render/demangle/demangle.h"
#include "gsym/render/demangle/demangle_parts.h"

#include <string.h>

struct ocaml_name {
	const char *at;              /* the path, after "caml" */
	size_t path, ident, ident_n; /* bytes of the path; begin and bytes of the identifier */
};

static bool is_capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex(char c)
{
	return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int byte_at(const char *s)
{
	int high = hex(s[0]), low = high < 0 ? -1 : hex(s[1]);
	return low < 0 ? -1 : high * 16 + low;
}

/*
 * The size of an escape at @s, and its byte; 0 for a separator. After one "$" an identifier may begin with
 * two letters that look like digits: only what is not ASCII does, and that has two bytes or more in UTF-8.
 */
static size_t escape_at(const char *s, unsigned char *ret)
{
	if (s[0] != '$')
		return 0;
	int byte = byte_at(s + 1);
	size_t size = 3;
	if (byte < 0 && s[1] == '$') {
		byte = byte_at(s + 2);
		size = 4;
	} else if (byte >= 0xc0 && !(s[3] == '$' && byte_at(s + 4) >= 0x80)) {
		byte = -1;
	} else if (byte >= 0x80 && byte < 0xc0 && !(is_digit(s[1]) || s[1] == 'a' || s[1] == 'b')) {
		byte = -1;
	}
	*ret = (unsigned char)byte;
	return byte < ' ' || byte == 0x7f ? 0 : size;
}

static bool is_word(char c)
{
	return is_capital(c) || (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
}

/* Whether a part that the compiler makes for each unit ends the name: its size with the separator, or 0. */
static size_t unit_part(const char *name, size_t n)
{
	static const char *const parts[] = {"entry",      "code_begin", "code_end",
					    "data_begin", "data_end",   "frametable"};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t size = strlen(parts[i]);
		if (n < size + 2 || memcmp(name + n - size, parts[i], size) != 0)
			continue;
		char before = name[n - size - 1];
		if (before == '.' || before == '$')
			return size + 1;
		if (before == '_' && name[n - size - 2] == '_')
			return size + 2;
	}
	return 0;
}

/* The bytes of @name without the number at its end; @n if there is none. */
static size_t cut_number(const char *name, size_t n)
{
	size_t end = n;
	while (end && is_digit(name[end - 1]))
		end--;
	return end && end < n && name[end - 1] == '_' ? end - 1 : n;
}

/* Splits at the last separator that is no "__". False if there is none. */
static bool split_at_sign(struct ocaml_name *name, size_t end)
{
	unsigned char byte;
	name->path = 0;
	for (size_t i = 0; i < end;) {
		size_t escape = escape_at(name->at + i, &byte);
		if (!escape && (name->at[i] == '.' || name->at[i] == '$')) {
			name->path = i;
			name->ident = i + 1;
		}
		i += escape ? escape : 1;
	}
	return name->path != 0;
}

/* Splits at the first "__" after the last module, or at the very first one. */
static bool split_at_underscores(struct ocaml_name *name, size_t end)
{
	size_t module = 0, first = 0;
	for (size_t i = 1; i + 2 < end; i++)
		if (name->at[i] == '_' && name->at[i + 1] == '_' && is_capital(name->at[i + 2]))
			module = i + 2;
	for (size_t i = module + 1; i + 2 < end && !first; i++)
		if (name->at[i] == '_' && name->at[i + 1] == '_')
			first = i;
	name->path = first ? first : module > 2 ? module - 2 : 0;
	name->ident = name->path + 2;
	return name->path != 0;
}

static bool split(const char *text, struct ocaml_name *ret)
{
	*ret = (struct ocaml_name){.at = text + 4};
	size_t n = strlen(ret->at);
	for (size_t i = 0; i < n; i++)
		if (!is_word(ret->at[i]) && ret->at[i] != '.' && ret->at[i] != '$')
			return false;
	size_t part = unit_part(ret->at, n);
	if (part) {
		ret->path = n - part;
		ret->ident = n - part + (ret->at[n - part] == '_' ? 2 : 1);
		ret->ident_n = n - ret->ident;
		return true;
	}
	size_t end = cut_number(ret->at, n);
	if (end == n || !(split_at_sign(ret, end) || split_at_underscores(ret, end)) || ret->ident >= end ||
	    is_digit(ret->at[ret->ident]))
		return false;
	ret->ident_n = end - ret->ident;
	if (ret->ident_n == 3 && !memcmp(ret->at + ret->ident, "fun", 3))
		ret->ident_n = n - ret->ident;
	return true;
}

/* Appends a part with its escapes resolved. @path: its separators become dots. */
static void append_part(struct text_buf *out, const char *s, size_t n, bool path)
{
	for (size_t i = 0; i < n;) {
		unsigned char byte;
		size_t escape = escape_at(s + i, &byte);
		bool separator = path && (s[i] == '$' || (s[i] == '_' && i + 1 < n && s[i + 1] == '_'));
		if (escape)
			text_char(out, (char)byte);
		else
			text_char(out, separator ? '.' : s[i]);
		i += escape ? escape : separator && s[i] == '_' ? 2 : 1;
	}
}

bool demangle_append_ocaml(struct text_buf *out, const char *text)
{
	struct ocaml_name name;
	if (!demangle_is_ocaml(text) || !split(text, &name))
		return false;
	append_part(out, name.at, name.path, true);
	text_char(out, '.');
	append_part(out, name.at + name.ident, name.ident_n, false);
	return !out->failed;
}
