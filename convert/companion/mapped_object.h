/*
 * mapped_object.h - the object files that the debug map of a Mach-O binary names (N_OSO of <mach-o/stab.h>).
 */
#ifndef CONVERT_COMPANION_MAPPED_OBJECT_H
#define CONVERT_COMPANION_MAPPED_OBJECT_H

#include "convert/object/object_file.h"
#include "gsym/base/bytes.h"

/*
 * Opens an object file of the debug map.
 *
 * @path:   "dir/x.o", or "dir/lib.a(x.o)" for a member of a static library, which may be in a fat file
 * @opener: see object_open()
 * @arch:   of the binary
 * @mtime:  modification time in the map, in seconds since the epoch; 0: any
 * @ret:    object_close() frees it
 *
 * The errnos of object_open(); -ENOENT when the library has no such member, -ESTALE when the file was
 * modified since, -ENOEXEC when it is no Mach-O file for @arch.
 */
int mapped_object_open(const char *path, const struct convert_opener *opener, const char *arch,
		       uint64_t mtime, struct object_file **ret, struct gsym_diag *diag);

/*
 * Finds the member called @name: of several, the one modified at @mtime (seconds since the epoch), else the
 * first. Understands the long names of BSD and GNU. False when there is none, or @file is no archive.
 */
bool archive_find(struct span file, const char *name, uint64_t mtime, struct span *ret);

#endif
