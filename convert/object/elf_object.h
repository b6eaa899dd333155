/* elf_image.h - ELF files as images: what object_file.c needs of their reader. */
#ifndef CONVERT_OBJECT_ELF_OBJECT_H
#define CONVERT_OBJECT_ELF_OBJECT_H

#include "convert/object/object_file.h"

/* Whether a file begins like an ELF file. */
bool elf_is_elf(struct span file);

/* Reads headers, sections, segments and notes of @object, whose bytes are there. -EBADMSG when they are
 * damaged. */
int elf_read(struct object_file *object, struct gsym_diag *diag);

/* See object_load_symbols(). */
int elf_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources);

/* Gives back what elf_read() has taken. */
void elf_close(struct object_file *object);

#endif
