/*
 * elf.h - the parts of the ELF reader that elf_format is put together from.
 */
#ifndef CONVERT_OBJECT_ELF_ELF_H
#define CONVERT_OBJECT_ELF_ELF_H

#include "convert/object/object_file.h"
#include "convert/object/source_format.h"
#include "gsym/base/invariant.h"

#include <libelf.h>

struct elf {
	Elf *handle;
	uint64_t laid_out; /* end of our own layout of the sections of a relocatable file */
	uint64_t
		relocations; /* bytes of relocation tables applied: at most map_size, as no two share bytes */
	struct {
		size_t symtab, section; /* section indexes of a symbol table and of its SHT_SYMTAB_SHNDX */
	} index_tables[2];              /* of .symtab and .dynsym */
	unsigned n_index_tables;
	struct object_section *opd; /* function descriptors (ELFv1 ABI of ppc64), or NULL */
};

static inline struct elf *elf_of(const struct object_file *object)
{
	invariant(object->format == &elf_format);
	return object->own;
}

/* See object_load_symbols(), object_load_plt() and section_relocate(). */
int elf_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources);
int elf_load_plt(struct object_file *object, const struct object_file *symtab);
int elf_relocate(struct object_file *object, struct object_section *section, uint64_t *ret_skipped);

/* See struct source_format. */
bool elf_own_name(struct object_file *object, char ret[static IMAGE_NAME_SIZE]);

/* Looks whether the file has the bytes that headers place: see object_expect(). */
void elf_expect(struct object_file *object);

#endif
