/*
 * dwarf_name.c - resolving the name of a function.
 *
 * Data: the chain of entries that DW_AT_specification and DW_AT_abstract_origin lead through, possibly in
 * other units (LTO, dwz); a direct-mapped cache of FOREIGN_UNITS loaded units; for each unit whose names are
 * qualified, its scopes in preorder. Method: the first linkage name in the chain wins; otherwise the first
 * plain name, qualified in C++ by the scopes around the declaration. Entries have no pointer to their parent,
 * so the scopes of a unit are indexed in one pass, and the innermost one around an entry is found by binary
 * search and the parent links. Chains and nesting are bounded, since references of a damaged file may form
 * cycles.
 */
#include "convert/dwarf/dwarf.h"
#include "gsym/base/search.h"

#include <libdwarf/dwarf.h>
#include <string.h>

enum { FOREIGN_UNITS = 64 };

struct foreign {
	struct unit unit; /* unit.header is NULL while the slot is free */
	bool bad;
};

struct names {
	struct warnings *warnings;
	struct unit *home; /* the unit being converted: already loaded */
	struct foreign foreign[FOREIGN_UNITS];
};

/* A reference to an entry. */
struct die_ref {
	const struct dwarf *dwarf;
	uint64_t off;
};

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
};

struct names *names_new(struct warnings *warnings)
{
	struct names *names = calloc(1, sizeof(*names));
	if (names)
		names->warnings = warnings;
	return names;
}

void names_forget(struct names *names, const struct dwarf *dwarf)
{
	for (size_t i = 0; i < FOREIGN_UNITS; i++) {
		struct unit *unit = &names->foreign[i].unit;
		if (!unit->header || unit->dwarf != dwarf)
			continue;
		unit->header = NULL;
		abbrev_table_forget(&unit->abbrevs);
	}
}

void names_free(struct names *names)
{
	for (size_t i = 0; names && i < FOREIGN_UNITS; i++)
		unit_deinit(&names->foreign[i].unit);
	free(names);
}

/* Loads the unit of a header. Valid until the next call, which may reuse the slot. */
static int load_unit(struct names *names, const struct dwarf *dwarf, const struct unit_header *header,
		     struct unit **ret)
{
	if (names->home->header == header) {
		*ret = names->home;
		return 0;
	}
	struct foreign *slot = &names->foreign[(size_t)(header - dwarf->units) % FOREIGN_UNITS];
	if (slot->unit.header != header) {
		int err = unit_load(&slot->unit, dwarf, header, names->warnings);
		slot->bad = err == -EBADMSG;
		if (err && !slot->bad) {
			slot->unit.header = NULL;
			return err;
		}
	}
	*ret = &slot->unit;
	return slot->bad ? -EBADMSG : 0;
}

static bool is_in_unit(const struct unit *unit, struct die_ref at)
{
	return at.dwarf == unit->dwarf && at.off >= unit->header->off && at.off < unit->header->end;
}

static int load_at(struct names *names, struct die_ref at, struct unit **ret)
{
	if (is_in_unit(names->home, at)) {
		*ret = names->home;
		return 0;
	}
	const struct unit_header *header = dwarf_find_unit(at.dwarf, at.off);
	if (header)
		return load_unit(names, at.dwarf, header, ret);
	warning_count(names->warnings, WARN_REFERENCE, ".debug_info", at.off);
	return -EBADMSG;
}

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
	if (name && *name)
		chain->name = name;
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
		int err = load_at(names, at, &unit);
		if (!err)
			err = die_at(unit, at.off, die);
		if (err)
			return err == -EBADMSG ? 0 : err;
		chain_add(chain, unit, die);
	}
	return 0;
}

/* ---- Scopes ---- */

/* Indexes the scopes of a unit in one pass. A damaged entry ends it: later entries then have no scope. */
static int index_scopes(struct unit *unit)
{
	uint32_t open[DIE_DEPTH_MAX];
	size_t depth = 0;
	struct cursor c = unit_cursor(unit, unit->first_child);
	open[0] = SCOPE_NONE;
	unit->scopes.n = 0;
	unit->has_scopes = true;
	while (unit->first_child && cursor_left(&c)) {
		uint64_t off = cursor_off(&c), code = cursor_uleb(&c);
		if (!code) {
			if (open[depth] != SCOPE_NONE && (!depth || open[depth] != open[depth - 1]))
				unit->scopes.v[open[depth]].end = off;
			if (!depth)
				break;
			depth--;
			continue;
		}
		const struct abbrev *abbrev = abbrev_find(&unit->abbrevs, code);
		if (!abbrev)
			break;
		bool inside = die_skip(&c, unit, abbrev);
		if (!inside)
			continue;
		if (depth + 1 == DIE_DEPTH_MAX) {
			if (!die_skip_children(&c, unit))
				break;
			continue;
		}
		uint32_t parent = open[depth];
		open[++depth] = parent;
		if (!is_scope(abbrev))
			continue;
		open[depth] = (uint32_t)unit->scopes.n;
		if (vec_push(&unit->scopes,
			     (struct scope){off, unit->header->end, parent, abbrev->tag, false}))
			return -ENOMEM;
	}
	return 0;
}

/* The innermost listed scope that contains @off but does not begin there. */
static uint32_t listed_scope(const struct unit *unit, uint64_t off)
{
	size_t lo = PARTITION_POINT(0, unit->scopes.n, mid, unit->scopes.v[mid].off < off);
	uint32_t i = lo ? (uint32_t)(lo - 1) : SCOPE_NONE;
	while (i != SCOPE_NONE && unit->scopes.v[i].end <= off)
		i = unit->scopes.v[i].parent;
	return i;
}

/* The innermost scope that contains @off but does not begin there, or SCOPE_NONE. 0 or -ENOMEM. */
static int find_scope(struct unit *unit, uint64_t off, uint32_t *ret)
{
	int err = unit->has_scopes ? 0 : index_scopes(unit);
	*ret = listed_scope(unit, off);
	if (!err && *ret != SCOPE_NONE && unit->scopes.v[*ret].skipped) {
		err = index_scopes(unit);
		*ret = listed_scope(unit, off);
	}
	return err;
}

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
	int err = load_unit(names, link->at.dwarf, link->header, &unit);
	if (!err)
		err = find_scope(unit, link->at.off, &i);
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

enum {
	SCOPES_MAX = 64,           /* around a function, the unnamed ones included */
	QUALIFIED_MAX = 32 * 1024, /* bytes; longer names stay bare */
};

struct scope_names {
	const char *part[SCOPES_MAX];
	unsigned n;
	size_t size;
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
		int err = load_unit(names, parent.at.dwarf, parent.header, &unit);
		if (!err)
			err = die_at(unit, parent.at.off, &die);
		if (!err)
			err = follow(names, unit, &die, chain);
		if (err)
			return err == -EBADMSG ? 0 : err;
		if (!chain->name)
			continue;
		size_t size = name_size(names, chain->name);
		if (!size) {
			parts->n = 0;
			return 0;
		}
		parts->part[parts->n++] = chain->name;
		parts->size += size + 2;
	}
	return 0;
}

/* "<lambda>" is no template argument: it is written "{lambda}", as demanglers do. */
static char *append_scope(char *at, const char *scope)
{
	size_t n = strlen(scope);
	memcpy(at, scope, n);
	if (n >= 2 && scope[0] == '<' && scope[n - 1] == '>') {
		at[0] = '{';
		at[n - 1] = '}';
	}
	return mempcpy(at + n, "::", 2);
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

static int qualify(struct names *names, struct name_chain *chain, struct text_buf *made, struct die_name *ret)
{
	struct scope_names parts = {0};
	int err = collect_scopes(names, chain, &parts);
	if (err || !parts.n || parts.size > QUALIFIED_MAX)
		return err;
	size_t size = parts.size + strlen(ret->text) + 1;
	if (!budget_memory(&names->home->budget, ACCOUNT_NAMES, size))
		return 0;
	text_reset(made);
	if (!text_reserve(made, size))
		return -ENOMEM;
	char *at = made->v;
	for (unsigned i = parts.n; i-- > 0;)
		at = append_scope(at, parts.part[i]);
	strcpy(at, ret->text);
	made->n = size;
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
	int err = load_at(names, at, &there);
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
		if (!is_in_unit(unit, at) || die_at(unit, at.off, &die))
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
