/*
 * dwarf_scope.c - the units that references lead to, and the scopes in them.
 *
 * Data: a direct-mapped cache of FOREIGN_UNITS loaded units; for each unit whose names are qualified, its
 * scopes in preorder. Entries have no pointer to their parent, so the scopes of a unit are indexed in one
 * pass, and the innermost one around an entry is found by binary search and the parent links.
 */
#include "convert/dwarf/dwarf_name.h"

#include "gsym/base/search.h"

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

int names_load_unit(struct names *names, const struct dwarf *dwarf, const struct unit_header *header,
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

int names_load(struct names *names, struct die_ref at, struct unit **ret)
{
	if (names_is_in_unit(names->home, at)) {
		*ret = names->home;
		return 0;
	}
	const struct unit_header *header = dwarf_find_unit(at.dwarf, at.off);
	if (header)
		return names_load_unit(names, at.dwarf, header, ret);
	warning_count(names->warnings, WARN_REFERENCE, ".debug_info", at.off);
	return -EBADMSG;
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

int names_find_scope(struct unit *unit, uint64_t off, uint32_t *ret)
{
	int err = unit->has_scopes ? 0 : index_scopes(unit);
	*ret = listed_scope(unit, off);
	if (!err && *ret != SCOPE_NONE && unit->scopes.v[*ret].skipped) {
		err = index_scopes(unit);
		*ret = listed_scope(unit, off);
	}
	return err;
}
