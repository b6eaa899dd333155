/* fixed_program.h - where the code of an ELF file is that is always loaded at its link-time addresses. */
#ifndef CLI_LOOKUP_FIXED_PROGRAM_H
#define CLI_LOOKUP_FIXED_PROGRAM_H

#include <stdint.h>

#include "gsym/base/vec.h"

struct address_list {
	VEC(uint64_t) list;
};

/*
 * Appends start and end of each segment of code. Nothing if the file cannot be read, can move, or is a
 * kernel, which does. 0 or -ENOMEM.
 */
int fixed_program_read(const char *path, struct address_list *ret);

#endif
