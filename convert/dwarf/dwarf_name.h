/*
 * dwarf_name.h - what names of functions are made with: units and scopes (dwarf_scope.c) and template
 * arguments (dwarf_template.c).
 */
#ifndef CONVERT_DWARF_DWARF_NAME_H
#define CONVERT_DWARF_DWARF_NAME_H

#include "convert/dwarf/dwarf.h"

enum {
	FOREIGN_UNITS = 64,
	QUALIFIED_MAX = 32 * 1024, /* bytes; longer names stay bare */
};

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

/* Returns whether the entry is in @unit. */
static inline bool names_is_in_unit(const struct unit *unit, struct die_ref at)
{
	return at.dwarf == unit->dwarf && at.off >= unit->header->off && at.off < unit->header->end;
}

/*
 * Loads the unit of a header of @dwarf. Valid until the next call, which may reuse the slot of a foreign one.
 * 0; -EBADMSG if it is damaged, which is counted; -ENOMEM.
 */
int names_load_unit(struct names *names, const struct dwarf *dwarf, const struct unit_header *header,
		    struct unit **ret);

/* The same for the unit of an entry; -EBADMSG, too, if there is none. */
int names_load(struct names *names, struct die_ref at, struct unit **ret);

/* The innermost scope that contains @off but does not begin there, or SCOPE_NONE. 0 or -ENOMEM. */
int names_find_scope(struct unit *unit, uint64_t off, uint32_t *ret);

/*
 * Appends the arguments of the template of which the entry at @at is an instance, "<int, 3>". Appends nothing
 * if it is none, if its @name has them already, or if they cannot be written. 0 or -ENOMEM.
 */
int names_append_arguments(struct names *names, struct die_ref at, const char *name, struct text_buf *made);

#endif
