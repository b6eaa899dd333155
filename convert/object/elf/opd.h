/*
 * opd.h - function descriptors of 64-bit PowerPC, ELFv1 ABI.
 *
 * A function's symbol is the address of its descriptor in .opd, whose first doubleword is the address of the
 * code. Source: 64-bit PowerPC ELF ABI supplement 1.9, 3.2.
 */
#ifndef CONVERT_OBJECT_ELF_OPD_H
#define CONVERT_OBJECT_ELF_OPD_H

#include "convert/object/object_file.h"

/* Finds the descriptors of @object, with relocations applied in relocatable files. 0 or -ENOMEM. */
int descriptors_open(struct object_file *object);

/* The address of the code when @addr is that of a descriptor, else @addr. */
uint64_t descriptor_code(const struct object_file *object, uint64_t addr);

/*
 * Older compilers name code ".name" and the descriptor "name", with the size of a descriptor: of such pairs
 * only the symbol of the code is kept. 0 or -ENOMEM.
 */
int descriptors_join(struct object_file *object);

#endif
