/*
 * valid_name.h - matches a file with the module that a log identifies by name alone. A name does not tell
 * builds apart.
 */
#ifndef CLI_LOOKUP_IMAGE_NAME_H
#define CLI_LOOKUP_IMAGE_NAME_H

#include "log/engine/filter.h"

/* How well the GSYM file's name matches the module's: more is better, 0: not at all. @only: there is no other
 * file. */
unsigned image_name_fit(const char *path, const struct filter_module *module, bool only);

/* Writes the @i-th file name that the module itself may have; of a kernel whose release is known the first is
 * that of the release alone. False if there are no more. */
bool image_name_of(const struct filter_module *module, unsigned i, char ret[static FILTER_NAME_SIZE]);

#endif
