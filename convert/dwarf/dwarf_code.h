/*
 * dwarf_code.h - which unit has the code at an address, without reading the entries of units.
 */
#ifndef CONVERT_DWARF_DWARF_CODE_H
#define CONVERT_DWARF_DWARF_CODE_H

#include "convert/dwarf/dwarf.h"

/* Code of a unit, as .debug_aranges or the unit's own entry tells. */
struct unit_code {
	uint64_t lo, hi; /* [lo, hi) */
	uint64_t unit;   /* offset of the unit in .debug_info */
};

typedef VEC(struct unit_code) unit_code_vec;

/*
 * Lists the code of all units, in no particular order: from .debug_aranges (6.1.2), and of units without a
 * set there from the ranges of their entry. If no units were found yet, only .debug_aranges is read. Damage
 * is passed over: a unit of which nothing is found out has no code here. Loads .debug_aranges, so not to be
 * called by two threads at once. 0 or -ENOMEM.
 */
int dwarf_list_code(const struct dwarf *dwarf, unit_code_vec *ret);

/*
 * Finds only the units at @n ascending offsets, of @dwarf whose sections are loaded: dwarf->units becomes an
 * array of these alone. What units share is then not known, so their budgets are smaller, and references to
 * other units lead nowhere. 0; -EBADMSG if one is damaged, or may not be read; -ENOMEM.
 */
int dwarf_take_units(struct dwarf *dwarf, const uint64_t *offsets, size_t n);

#endif
