/* path.h - paths as text: of files, and of source files, which were written on any system. */
#ifndef GSYM_BASE_PATH_H
#define GSYM_BASE_PATH_H

#include <stdbool.h>

/* Whether @path is @dir or below it; all paths are in "". Both without "." and ".." and repeated slashes. */
bool path_is_within(const char *path, const char *dir);

/*
 * What stands between the directory @dir and the name of a file in it: "/", a backslash for a directory
 * written on Windows, or nothing after a root, which ends with its separator, and after "".
 */
const char *path_separator(const char *dir);

#endif
