/*
 * files.h - the files of one conversion: opened, searched for, fetched.
 */
#ifndef CONVERT_FILES_H
#define CONVERT_FILES_H

#include "convert/conversion.h"

/*
 * Finds and opens the files that belong to c->object. -EINVAL when one that the caller named belongs to
 * another object file, or the errnos of object_open() for it; -ENOMEM.
 */
int conversion_open_files(struct conversion *c, struct gsym_diag *diag);

/* Fills c->symbols from all of them. 0 or -ENOMEM. */
int conversion_load_symbols(struct conversion *c);

/*
 * Fills @ret with those symbols of all files that touch one of the normalized ranges @near; ends that are
 * inferred may be wrong, and section markers are not recognised. 0 or -ENOMEM.
 */
int conversion_load_near(struct conversion *c, const range_vec *near, symbol_vec *ret);

/* Loads the sections of the DWARF, without its units (prepare.h). 0 or -ENOMEM. */
int conversion_load_dwarf(struct conversion *c);

/* Opens what the DWARF refers to, or the debug map of a Mach-O binary without any. 0 or -ENOMEM. */
int conversion_open_dwarf(struct conversion *c);

/* Whether there is a debug file that was not found: its name, cut to @size. */
bool conversion_lacks_debug_file(const struct conversion *c, char *ret, size_t size);

/* Lists the files that were not found in @summary. 0 or -ENOMEM. */
int conversion_list_missing(struct conversion *c, struct convert_summary *summary);

void conversion_close_files(struct conversion *c);

#endif
