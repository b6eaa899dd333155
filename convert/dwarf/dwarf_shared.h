/*
 * dwarf_shared.h - whether units may read the abbreviations and line tables that they share: see
 * dwarf_shared.c. Of dwarf_find_units() only.
 */
#ifndef CONVERT_DWARF_DWARF_SHARED_H
#define CONVERT_DWARF_DWARF_SHARED_H

#include "convert/dwarf/dwarf.h"

enum { ROOTS_MAX = 64 }; /* abbreviations of unit entries in one table; compilers need a few */

struct root_abbrev {
	uint64_t code;
	uint64_t specs; /* offset of its attributes in .debug_abbrev */
};

struct shared_scan {
	struct dwarf *dwarf;
	uint64_t abbrev_left, line_left; /* bytes that may be read */

	/* The abbreviations of the last unit */
	bool has_table;
	uint64_t table_off;
	uint16_t version;
	uint8_t addr_size, off_size;
	struct root_abbrev roots[ROOTS_MAX];
	unsigned n_roots;

	uint64_t line_off; /* the last line table named, or NO_LINES */
	uint8_t line_addr_size;
};

void shared_scan_begin(struct shared_scan *scan, struct dwarf *dwarf);

/*
 * The next unit, of which u->input and u->line_off are set. False when its abbreviations may not be read, and
 * so no entry of it. What is left out is counted in @warnings.
 */
bool shared_scan_unit(struct shared_scan *scan, struct unit_header *u, struct warnings *warnings);

#endif
