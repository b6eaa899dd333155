/*
 * debug_files.h - companions of an object file: its separate debug file, the alternate file shared by several
 * of those, and the symbol table in .gnu_debugdata.
 *
 * Every candidate is verified: by build id, by CRC, or by the id in the link.
 */
#ifndef CONVERT_COMPANION_DEBUG_FILES_H
#define CONVERT_COMPANION_DEBUG_FILES_H

#include "convert/object/object_file.h"

/*
 * The separate debug file of @object, found by build id below @dirs (.build-id/xx/yyyy.debug) or by
 * .gnu_debuglink beside the object file, in .debug/, or below @dirs; of a Mach-O file in a dSYM bundle. NULL
 * when there is none; @trouble is set if a bundle is there that is not used. @dirs ends with NULL and may be
 * NULL. 0 or -ENOMEM.
 */
int find_debug_file(const struct object_file *object, const char *const *dirs, struct object_file **ret,
		    struct gsym_diag *trouble);

/*
 * Fetches that file through object->opener (debuginfod). 0; -ENOSYS when the opener fetches nothing, -ENOENT
 * when no server has it, -EBADMSG when the file fetched is another one, or the errno of the fetch.
 */
int fetch_debug_file(const struct object_file *object, struct object_file **ret);

/*
 * The name of the debug file of @object: from .gnu_debuglink, else that of its PDB file in a symbol store,
 * else from its build id. False when it has none of them.
 */
bool debug_file_name(struct object_file *object, char *ret, size_t size);

/* The name in .gnu_debuglink. False when there is none, or it is longer. */
bool debug_link_name(struct object_file *object, char *ret, size_t size);

/*
 * The alternate (.gnu_debugaltlink, dwz) or supplementary file (.debug_sup, DWARF 5) @object names, or NULL.
 */
const char *alternate_name(struct object_file *object);

/* Opens that file. NULL when it is not found or has another id. 0 or -ENOMEM. */
int find_alternate(struct object_file *object, const char *const *dirs, struct object_file **ret);

/* Fetches that file; see fetch_debug_file(). -ENOSYS also when @object names none. */
int fetch_alternate(struct object_file *object, struct object_file **ret);

/*
 * Opens the object file in .gnu_debugdata (xz): the symbols of a stripped file. NULL when there is none. 0,
 * -ENOMEM, -EFBIG when it is too large, or -EBADMSG when it is damaged.
 */
int open_debugdata(struct object_file *object, struct object_file **ret);

/* ---- The PDB file of a PE file (pdb_find.c) ---- */

/*
 * Opens the PDB file of @pe from beside it or one of @dirs, which end with NULL and may be NULL; without
 * pdb_load(). NULL when there is none with the same GUID and age; then @why is set if there is one with
 * another age, or whose form is not read, and was empty before.
 */
struct object_file *pdb_find(const struct object_file *pe, const char *const *dirs, struct gsym_diag *why);

/* The path of the PDB file as @object names it; NULL: it names none, or is no PE file. */
const char *pdb_path(const struct object_file *object);

/* The path of that file in a symbol store, NAME.pdb/GUIDage/NAME.pdb, cut to @size. False: @pe names none. */
bool pdb_store_name(const struct object_file *pe, char *ret, size_t size);

#endif
