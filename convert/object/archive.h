/* archive.h - members of static libraries (ar(5)), as Mach-O binaries name them: "lib.a(x.o)". */
#ifndef CONVERT_OBJECT_ARCHIVE_H
#define CONVERT_OBJECT_ARCHIVE_H

#include "gsym/base/bytes.h"

/*
 * The member called @name, in @ret: the one of time @mtime (seconds since the epoch) if several have the
 * name, else the first. BSD's and GNU's forms of long names. False when there is none, or @file is no
 * archive.
 */
bool archive_find(struct span file, const char *name, uint64_t mtime, struct span *ret);

#endif
