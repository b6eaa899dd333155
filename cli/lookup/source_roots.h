/* source_roots.h - the directories that the source files of an image are in, for --strip-prefix=auto. */
#ifndef CLI_LOOKUP_SOURCE_ROOTS_H
#define CLI_LOOKUP_SOURCE_ROOTS_H

#include "gsym/gsym.h"

enum { SOURCE_ROOTS = 2 };

/*
 * Finds the longest directory that all files with absolute paths are in, but those below /usr, headers of the
 * system, and that of all files with relative paths. A kernel that was built reproducibly has both: where the
 * compiler was told to shorten paths, and where the assembler was not. Files that are known below both are in
 * one tree, whose directory is shortened until it is the same: all assembler files are below arch/x86, which
 * is no root.
 *
 * @ret: each is allocated, without a slash at its end, or NULL
 *
 * 0 or -ENOMEM. The caller frees both either way.
 */
int source_roots_find(const struct gsym_reader *reader, char *ret[static SOURCE_ROOTS]);

#endif
