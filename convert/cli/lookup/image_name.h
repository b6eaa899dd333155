/*
 * image_name.h - whether a file may be the one that a log calls by name alone. Nothing in a name says which
 * build it is.
 */
#ifndef CONVERT_CLI_LOOKUP_IMAGE_NAME_H
#define CONVERT_CLI_LOOKUP_IMAGE_NAME_H

#include "gsym/filter/filter.h"

/* How well the GSYM file's name fits the module's: more is better, 0 = not at all. @only: there is no other
 * file. */
unsigned image_name_fit(const char *path, const struct filter_module *module, bool only);

/* Writes the @i-th file name that the module itself may have. False when there is none, or no more. */
bool image_name_of(const struct filter_module *module, unsigned i, char ret[static FILTER_NAME_SIZE]);

#endif
