/*
 * dwarf_name.c - resolving the name of a function.
 *
 * Data: the chain of entries that DW_AT_specification and DW_AT_abstract_origin lead through, possibly in
 * other units (LTO, dwz). Method: the first linkage name in the chain wins; otherwise the first plain name,
 * qualified in C++ by the scopes around the declaration. Chains and nesting are bounded, since references of
 * a damaged file may form cycles.
 */
#include "convert/dwarf/dwarf_name.h"

#include <libdwarf/dwarf.h>
#include <string.h>

/* One entry of a chain of references. */
struct chain_link {
	struct die_ref at;
	const struct unit_header *header;
	uint16_t tag;
};

struct name_chain {
	struct chain_link links[REFERENCE_DEPTH_MAX];
	unsigned n;
	const char *linkage_name, *name; /* the first met */
	struct die_ref named;            /* the entry that has @name */
};

/* The entry that @die takes its name from, or false. */
static bool next_reference(struct names *names, const struct unit *unit, const struct die *die,
			   struct die_ref *ret)
{
	for (enum attr_slot slot = SLOT_SPECIFICATION; slot >= SLOT_ORIGIN; slot--) {
		if (!die_has(die, slot))
			continue;
		const struct value *v = &die->attr[slot];
		bool alternate = v->class == VALUE_ALTERNATE;
		if (alternate && !unit->dwarf->alternate)
			warning_count(names->warnings, WARN_ALTERNATE_FILE, ".debug_info", die->off);
		else if (alternate || v->class == VALUE_REFERENCE) {
			*ret = (struct die_ref){alternate ? unit->dwarf->alternate : unit->dwarf, v->u};
			return true;
		}
	}
	return false;
}

static void chain_add(struct name_chain *chain, const struct unit *unit, const struct die *die)
{
	const char *linkage = die_string(unit, die, SLOT_LINKAGE_NAME);
	if (linkage && *linkage && !chain->linkage_name)
		chain->linkage_name = linkage;
	const char *name = chain->name ? NULL : die_string(unit, die, SLOT_NAME);
	if (name && *name) {
		chain->name = name;
		chain->named = (struct die_ref){unit->dwarf, die->off};
	}
	chain->links[chain->n++] =
		(struct chain_link){{unit->dwarf, die->off}, unit->header, die->abbrev->tag};
}

/* Follows the references of @die, which is overwritten; a bad one ends the chain. 0 or -ENOMEM. */
static int follow(struct names *names, struct unit *unit, struct die *die, struct name_chain *chain)
{
	struct die_ref at;
	uint64_t first = die->off;
	/* The links are not cleared: there are too many to do so for every name. */
	chain->n = 0;
	chain->linkage_name = chain->name = NULL;
	chain_add(chain, unit, die);
	while (!chain->linkage_name && next_reference(names, unit, die, &at)) {
		if (chain->n == REFERENCE_DEPTH_MAX) {
			warning_count(names->warnings, WARN_REFERENCE_DEPTH, ".debug_info", first);
			return 0;
		}
		int err = names_load(names, at, &unit);
		if (!err)
			err = die_at(unit, at.off, die);
		if (err)
			return err == -EBADMSG ? 0 : err;
		chain_add(chain, unit, die);
	}
	return 0;
}

/* ---- Declarations ---- */

static bool names_members(uint16_t tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_subprogram;
}

/* The entry that a link is declared in: 1 and its place, 0 when there is none. */
static int link_parent(struct names *names, const struct chain_link *link, struct chain_link *ret)
{
	struct unit *unit;
	/* Its parent is the place where it was inlined, not where it was declared. */
	if (link->tag == DW_TAG_inlined_subroutine)
		return 0;
	uint32_t i;
	int err = names_load_unit(names, link->at.dwarf, link->header, &unit);
	if (!err)
		err = names_find_scope(unit, link->at.off, &i);
	if (err)
		return err == -EBADMSG ? 0 : err;
	if (i == SCOPE_NONE || !names_members(unit->scopes.v[i].tag))
		return 0;
	*ret = (struct chain_link){
		{link->at.dwarf, unit->scopes.v[i].off}, link->header, unit->scopes.v[i].tag};
	return 1;
}

/* The same for a whole chain, starting from its end, the declaration. */
static int chain_parent(struct names *names, const struct name_chain *chain, struct chain_link *ret)
{
	for (unsigned i = chain->n; i-- > 0;) {
		int found = link_parent(names, &chain->links[i], ret);
		if (found)
			return found;
	}
	return 0;
}

/* ---- Qualified names ---- */

enum { SCOPES_MAX = 64 }; /* around a function, the unnamed ones included */

/* An entry by whose name another one is qualified. */
struct scope_name {
	const char *text;
	struct die_ref at;
};

struct scope_names {
	struct scope_name part[SCOPES_MAX];
	unsigned n;
};

/* The size of a name, charged to the unit being converted; 0 if it is longer than qualified names may be, or
 * the budget is used up. */
static size_t name_size(struct names *names, const char *name)
{
	int64_t size = budget_text(&names->home->budget, ACCOUNT_NAMES, name, QUALIFIED_MAX + 1);
	return size < 0 || size > QUALIFIED_MAX ? 0 : (size_t)size;
}

/* The short names of the scopes around a chain, innermost first. */
static int collect_scopes(struct names *names, struct name_chain *chain, struct scope_names *parts)
{
	struct chain_link parent = {0};
	int found;
	for (unsigned depth = 0; (found = chain_parent(names, chain, &parent)) != 0; depth++) {
		if (depth == SCOPES_MAX) {
			warning_count(names->warnings, WARN_REFERENCE_DEPTH, ".debug_info", parent.at.off);
			return 0;
		}
		struct unit *unit;
		struct die die;
		if (found < 0)
			return found;
		int err = names_load_unit(names, parent.at.dwarf, parent.header, &unit);
		if (!err)
			err = die_at(unit, parent.at.off, &die);
		if (!err)
			err = follow(names, unit, &die, chain);
		if (err)
			return err == -EBADMSG ? 0 : err;
		if (!chain->name)
			continue;
		if (!name_size(names, chain->name)) {
			parts->n = 0;
			return 0;
		}
		parts->part[parts->n++] = (struct scope_name){chain->name, chain->named};
	}
	return 0;
}

/* "<lambda>" is no template argument: it is written "{lambda}", as demanglers do. */
static void append_scope(struct text_buf *made, const char *scope)
{
	size_t n = strlen(scope), at = made->n;
	text_bytes(made, scope, n);
	if (!made->failed && n >= 2 && scope[0] == '<' && scope[n - 1] == '>') {
		made->v[at] = '{';
		made->v[at + n - 1] = '}';
	}
}

bool language_qualifies(uint16_t language)
{
	switch (language) {
	case DW_LANG_C:
	case DW_LANG_C_plus_plus:
	case DW_LANG_ObjC_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2a: /* C++17, as dwarfstd.org lists it */
	case 0x2b: /* C++20 */
	case 0x3a: /* C++23 */ return true;
	}
	return false;
}

/* gcc writes mangled names of clones as plain names. */
static bool is_mangled_clone(const char *name)
{
	return !strncmp(name, "_Z", 2) && (strstr(name, ".isra.") || strstr(name, ".part."));
}

/* Makes the name with its scopes, and all of them with their template arguments. */
static int qualify(struct names *names, struct name_chain *chain, struct text_buf *made, struct die_name *ret)
{
	struct scope_names parts = {.n = 0};
	struct die_ref named = chain->named;
	int err = collect_scopes(names, chain, &parts);
	text_reset(made);
	for (unsigned i = parts.n; !err && i-- > 0 && made->n <= QUALIFIED_MAX;) {
		append_scope(made, parts.part[i].text);
		err = names_append_arguments(names, parts.part[i].at, parts.part[i].text, made);
		text_lit(made, "::");
	}
	bool qualified = made->n != 0, too_long = made->n > QUALIFIED_MAX;
	text_str(made, ret->text);
	size_t plain = made->n;
	if (!err)
		err = names_append_arguments(names, named, ret->text, made);
	bool different = qualified || made->n != plain;
	text_char(made, '\0');
	if (err || made->failed)
		return -ENOMEM;
	if (!different || too_long || !budget_memory(&names->home->budget, ACCOUNT_NAMES, made->n))
		return 0;
	ret->bare = ret->text;
	ret->text = made->v;
	return 0;
}

int names_resolve(struct names *names, struct unit *unit, uint64_t key, struct text_buf *made,
		  struct die_name *ret)
{
	struct name_chain chain; /* set by follow() */
	struct die_ref at = {key & KEY_ALTERNATE ? unit->dwarf->alternate : unit->dwarf,
			     key & ~KEY_ALTERNATE};
	struct unit *there;
	struct die die;
	names->home = unit;
	*ret = (struct die_name){0};
	int err = names_load(names, at, &there);
	if (!err)
		err = die_at(there, at.off, &die);
	if (!err)
		err = follow(names, there, &die, &chain);
	if (err)
		return err == -EBADMSG ? 0 : err;
	ret->text = chain.linkage_name ? chain.linkage_name : chain.name;
	ret->linkage = chain.linkage_name != NULL;
	if (ret->linkage || !ret->text || !language_qualifies(unit->language))
		return 0;
	if (!name_size(names, ret->text) || is_mangled_clone(ret->text))
		return 0;
	return qualify(names, &chain, made, ret);
}

bool names_declaration(struct names *names, struct unit *unit, uint64_t off, uint64_t *ret_file,
		       uint64_t *ret_line)
{
	bool has_file = false, has_line = false;
	struct die_ref at = {unit->dwarf, off};
	for (unsigned depth = 0; depth < REFERENCE_DEPTH_MAX; depth++) {
		struct die die;
		if (!names_is_in_unit(unit, at) || die_at(unit, at.off, &die))
			break;
		if (!has_file && die_has(&die, SLOT_DECL_FILE)) {
			*ret_file = die_uint(&die, SLOT_DECL_FILE, 0);
			has_file = true;
		}
		if (!has_line && die_has(&die, SLOT_DECL_LINE)) {
			*ret_line = die_uint(&die, SLOT_DECL_LINE, 0);
			has_line = true;
		}
		if ((has_file && has_line) || !next_reference(names, unit, &die, &at))
			break;
	}
	return has_file && has_line;
}
