/* bundle.h - the debug file in a dSYM bundle, which is a directory, where commands take an object file. */
#ifndef CLI_COMMAND_BUNDLE_H
#define CLI_COMMAND_BUNDLE_H

#include <limits.h>

#include "gsym/gsym.h"

/*
 * If @path is a directory with debug files as dsymutil makes it, @ret is the path of the only one; else it is
 * @path. 0, -ENAMETOOLONG, -ENOTUNIQ or -ENOENT with the choices, or that there are none, in @diag.
 */
int bundle_resolve(const char *path, char ret[static PATH_MAX], struct gsym_diag *diag);

#endif
