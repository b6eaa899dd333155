/*
 * coff.h - what PE and PDB files have of COFF. Source: Microsoft's "PE Format". Constants are defined here,
 * because other systems lack its headers.
 */
#ifndef CONVERT_OBJECT_COFF_H
#define CONVERT_OBJECT_COFF_H

#include "convert/object/object_file.h"

enum {
	IMAGE_FILE_MACHINE_I386 = 0x14c,
	IMAGE_FILE_MACHINE_ARM = 0x1c0,
	IMAGE_FILE_MACHINE_THUMB = 0x1c2,
	IMAGE_FILE_MACHINE_ARMNT = 0x1c4,
	IMAGE_FILE_MACHINE_AMD64 = 0x8664,
	IMAGE_FILE_MACHINE_ARM64EC = 0xa641,
	IMAGE_FILE_MACHINE_ARM64X = 0xa64e,
	IMAGE_FILE_MACHINE_ARM64 = 0xaa64,
};

/* Sets object->arch. */
void coff_set_machine(struct object_file *object, uint16_t machine);

/* Sets what the characteristics in a section header say: whether @section is loaded, and is code. */
void coff_set_use(struct object_section *section, uint32_t flags);

/*
 * A name of @size bytes without the decoration of i386's calling conventions: in @object->names unless
 * @is_text, that a NUL ends it, and its end is that of the name. NULL without memory.
 */
const char *coff_plain_name(struct object_file *object, uint16_t machine, const char *name, size_t size,
			    bool is_text);

#endif
