/*
 * name_match.c - a scan for the encoded name in the mangled one, without demangling.
 */
#include "convert/record/name_match.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MANGLED_MAX = 4096 }; /* longer symbols are not searched for a name */

static bool is_mangled(const struct pool_string *s)
{
	return s->size > 2 && (!memcmp(s->text, "_Z", 2) || !memcmp(s->text, "_R", 2) ||
			       !memcmp(s->text, "$s", 2) || !memcmp(s->text, "$S", 2));
}

bool string_is_mangled(const struct pool *pool, uint32_t string)
{
	return is_mangled(&pool->strings.v[string]);
}

static bool has_at(const struct pool_string *s, size_t at, const char *text, size_t size)
{
	return s->size >= at && s->size - at >= size && !memcmp(s->text + at, text, size);
}

/*
 * Mangled names contain source names as length and text, "3foo" (Itanium C++ ABI, 5.1.2, and Rust), and
 * operator() as "cl" (5.1.3).
 */
static bool has_inside(const struct pool_string *s, const struct pool_string *name)
{
	char length[16];
	size_t digits = (size_t)snprintf(length, sizeof(length), "%" PRIu32, name->size);
	bool lambda = name->size == 10 && !memcmp(name->text, "operator()", 10);
	for (size_t at = 2; s->size <= MANGLED_MAX && at + 2 < s->size; at++)
		if (lambda ? has_at(s, at, "clE", 3)
			   : has_at(s, at, length, digits) && has_at(s, at + digits, name->text, name->size))
			return true;
	return false;
}

/*
 * Microsoft's mangled names begin with the identifier, "?f@", or its code, for which a constructor has its
 * class: "??0S@". Of a template they have "?$" before it.
 */
static bool begins_with(const struct pool_string *s, const struct pool_string *name)
{
	bool structor = has_at(s, 1, "?0", 2) || has_at(s, 1, "?1", 2);
	bool is_tilde = name->size && name->text[0] == '~';
	size_t at = structor ? 3 : 1, size = name->size - is_tilde;
	at += has_at(s, at, "?$", 2) ? 2 : 0;
	return is_tilde == has_at(s, 1, "?1", 2) && has_at(s, at, name->text + is_tilde, size) &&
	       has_at(s, at + size, "@", 1);
}

bool name_matches(const struct pool_string *symbol, const struct pool_string *name)
{
	if (has_at(symbol, 0, name->text, name->size) &&
	    (symbol->size == name->size || symbol->text[name->size] == '.' ||
	     symbol->text[name->size] == '@'))
		return true;
	if (has_at(symbol, 0, "?", 1))
		return begins_with(symbol, name);
	return is_mangled(symbol) && has_inside(symbol, name);
}

bool symbol_matches(uint32_t symbol_name, const struct func_record *r, const struct pool *pool)
{
	return name_matches(&pool->strings.v[symbol_name],
			    &pool->strings.v[r->bare == NO_STRING ? r->name : r->bare]);
}
