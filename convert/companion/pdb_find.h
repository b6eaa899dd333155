/*
 * pdb_find.h - the PDB file of a PE file.
 */
#ifndef CONVERT_COMPANION_PDB_FIND_H
#define CONVERT_COMPANION_PDB_FIND_H

#include "convert/object/object_file.h"

/*
 * Opens the PDB file of @pe from beside it or one of @dirs, which end with NULL and may be NULL; without
 * pdb_load(). NULL when there is none with the same GUID and age; then @why is set if there is one with
 * another age, or whose form is not read, and was empty before.
 */
struct object_file *pdb_find(const struct object_file *pe, const char *const *dirs, struct gsym_diag *why);

/* The path of that file in a symbol store, NAME.pdb/GUIDage/NAME.pdb, cut to @size. False: @pe names none. */
bool pdb_store_name(const struct object_file *pe, char *ret, size_t size);

#endif
