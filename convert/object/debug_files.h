/*
 * debug_files.h - the other files that tell about an object file: its separate debug file, what that shares
 * with others, and a small symbol table in a section.
 *
 * Every candidate is checked before it is believed: by build id, by CRC, or by the id a link names.
 */
#ifndef CONVERT_OBJECT_DEBUG_FILES_H
#define CONVERT_OBJECT_DEBUG_FILES_H

#include "convert/object/object_file.h"

/*
 * The separate debug file of @object, found by build id below @dirs (.build-id/xx/yyyy.debug) or by
 * .gnu_debuglink beside the object file, in .debug/, or below @dirs. NULL when there is none. @dirs ends with
 * NULL and may be NULL. 0 or -ENOMEM.
 */
int find_debug_file(const struct object_file *object, const char *const *dirs, struct object_file **ret);

/*
 * The same file from those whom the object file's opener may ask. 0; -ENOSYS when there is nobody to ask,
 * -ENOENT when nobody has it, -EBADMSG when what came is not it, or why it did not come.
 */
int fetch_debug_file(const struct object_file *object, struct object_file **ret);

/* The name of the debug file of @object by .gnu_debuglink, else by its build id. False when it has neither.
 */
bool debug_file_name(struct object_file *object, char *ret, size_t size);

/* The alternate (.gnu_debugaltlink, dwz) or supplementary file (.debug_sup, DWARF 5) @object names, or NULL.
 */
const char *alternate_name(struct object_file *object);

/* That file, checked by its id. NULL when it is not here or is another one. 0 or -ENOMEM. */
int find_alternate(struct object_file *object, const char *const *dirs, struct object_file **ret);

/* That file, as fetch_debug_file() gets it. -ENOSYS also when the object file names none. */
int fetch_alternate(struct object_file *object, struct object_file **ret);

/*
 * The object file inside .gnu_debugdata (xz): the symbols of a stripped file. NULL when there is none. The
 * memory is the object file's. 0, -ENOMEM, or another error when it is damaged.
 */
int open_debugdata(struct object_file *object, struct object_file **ret);

#endif
