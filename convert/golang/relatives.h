/*
 * relatives.h - relocations of a position independent ELF program by its load address.
 *
 * The system's linker writes the addresses that they make to .rela.dyn, and to the bytes they are for a zero,
 * or, for AArch64, something else.
 */
#ifndef CONVERT_GOLANG_RELATIVES_H
#define CONVERT_GOLANG_RELATIVES_H

#include "convert/object/object_file.h"
#include "gsym/base/cursor.h"

struct relative {
	uint64_t addr, value; /* the word at addr is value */
};

/* The relocations of @object; none if it has no such section, as 32-bit machines that Go knows. */
struct cursor relatives_of(struct object_file *object);

/* The next one. False at the end. */
bool next_relative(struct cursor *c, struct relative *ret);

#endif
