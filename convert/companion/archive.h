/* archive.h - members of static libraries (ar(5)), as Mach-O binaries name them: "lib.a(x.o)". */
#ifndef CONVERT_COMPANION_ARCHIVE_H
#define CONVERT_COMPANION_ARCHIVE_H

#include "gsym/base/bytes.h"

/*
 * Finds the member called @name: of several, the one modified at @mtime (seconds since the epoch), else the
 * first. Understands the long names of BSD and GNU. False when there is none, or @file is no archive.
 */
bool archive_find(struct span file, const char *name, uint64_t mtime, struct span *ret);

#endif
