/* verify_attr.h - single attributes of an entry, through libdwarf. */
#ifndef CONVERT_VERIFY_VERIFY_ATTR_H
#define CONVERT_VERIFY_VERIFY_ATTR_H

#include "convert/verify/verify_libdwarf.h"

struct verify_range {
	uint64_t low, high; /* high is past the last byte */
};

/* The names an entry has, found through abstract origins and specifications. */
struct verify_name {
	const char *linkage; /* NULL = none; borrowed from the open object */
	const char *plain;   /* NULL = none */
};

struct verify_range_list {
	struct verify_range *v;
	size_t n, cap;
};

/* Appends the non-empty ranges of @die: low_pc and high_pc, or DW_AT_ranges. 0 or -ENOMEM. */
int verify_attr_ranges(struct dw *dw, Dwarf_Die die, struct verify_range_list *ranges);

/* Linkage and plain name of @die, of what it is an instance of, or of what it completes. */
struct verify_name verify_attr_name(struct dw *dw, Dwarf_Die die);

/* An unsigned attribute of @die, 0 when it has none. */
uint64_t verify_attr_number(struct dw *dw, Dwarf_Die die, Dwarf_Half attr);

#endif
