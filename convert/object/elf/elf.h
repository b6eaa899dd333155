/*
 * elf.h - the parts of the ELF reader that elf_format is put together from.
 */
#ifndef CONVERT_OBJECT_ELF_ELF_H
#define CONVERT_OBJECT_ELF_ELF_H

#include "convert/object/object_file.h"

/* See object_load_symbols(), object_load_plt() and section_relocate(). */
int elf_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources);
int elf_load_plt(struct object_file *object, const struct object_file *symtab);
int elf_relocate(struct object_file *object, struct object_section *section, uint64_t *ret_skipped);

/* Looks whether the file has the bytes that headers place: see object_expect(). */
void elf_expect(struct object_file *object);

#endif
