/* dsym.h - the debug data of a linked Mach-O file: a bundle that dsymutil(1) made. */
#ifndef CONVERT_COMPANION_DSYM_H
#define CONVERT_COMPANION_DSYM_H

#include "convert/object/object_file.h"

/*
 * The slice with the UUID of @object in a bundle beside it ("X.dSYM" of "X", "X.app.dSYM" of "X.app/X"), or
 * in one of
 * @dirs, which end with NULL and may be NULL. NULL when there is none.
 */
struct object_file *dsym_find(const struct object_file *object, const char *const *dirs);

/* The name that the bundle of @object would have. */
void dsym_name(const struct object_file *object, char *ret, size_t size);

#endif
