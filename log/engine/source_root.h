/* source_root.h - the directory that the source files of an image share: what was built was built there. */
#ifndef LOG_ENGINE_SOURCE_ROOT_H
#define LOG_ENGINE_SOURCE_ROOT_H

#include "gsym/gsym.h"

/*
 * The longest directory that all source files are in, without a slash at its end; those below /usr, headers
 * of the system, do not count. *ret is allocated, or NULL if they share none. 0 or -ENOMEM.
 */
int source_root_find(const struct gsym_reader *reader, char **ret);

#endif
