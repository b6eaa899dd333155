/*
 * debug_file.h - debug files where the converter does not look: beside a symbolic link to the object file, in
 * the bundles that an option names, and in the caches of debuginfod's clients. No server is asked.
 */
#ifndef CLI_SYMBOLIZER_DEBUG_FILE_H
#define CLI_SYMBOLIZER_DEBUG_FILE_H

#include <limits.h>

#include "cli/symbolizer/symbolizer_options.h"
#include "convert/object/object_file.h"

/* Finds the debug file of a build id, in small hexadecimal letters, that elfutils' or LLVM's client has. */
bool debug_file_fetched(const char *id, char ret[PATH_MAX]);

/* Returns whether debug_file_find() is worth reading the object file at @path for. */
bool debug_file_may_be_elsewhere(const struct symbolizer_options *options, const char *path);

/* Finds the file with the debug data of @object, opened as @path, if that has none; ids are compared. */
bool debug_file_find(const struct symbolizer_options *options, struct object_file *object, const char *path,
		     char ret[PATH_MAX]);

#endif
