/*
 * verify.h - an independent check of a GSYM file against the DWARF of its object file.
 *
 * At the start of each function, each line row and each boundary of an inlined call, the frames are derived
 * from the DWARF by libdwarf and compared with the answer of a lookup in the GSYM. No DWARF code of the
 * converter is used.
 */
#ifndef CONVERT_VERIFY_VERIFY_H
#define CONVERT_VERIFY_VERIFY_H

#include "convert/verify/verify_report.h"
#include "gsym/gsym.h"

struct verify_options {
	uint32_t max_functions; /* compare about this many, evenly spread over the file; 0 = all */
};

/*
 * Compares a GSYM file with its object file.
 *
 * @object_path: of the object file, which must have DWARF itself
 * @reader:      the GSYM file
 * @options:     how much to compare
 * @ret:         the differences
 *
 * 0 when the comparison was made, with or without differences; -ENODATA when the object file has no DWARF,
 * -ENOEXEC when libdwarf can read no unit, -ENOMEM, or the errnos of object_open().
 */
int verify_against(const char *object_path, const struct gsym_reader *reader,
		   const struct verify_options *options, struct verify_report *ret, struct gsym_diag *diag);

#endif
