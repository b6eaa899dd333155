/*
 * elf_symbol.h - tables of an ELF file, and one entry of a symbol table (gABI, chapter 4, "Symbol Table").
 */
#ifndef CONVERT_OBJECT_ELF_ELF_SYMBOL_H
#define CONVERT_OBJECT_ELF_ELF_SYMBOL_H

#include "convert/object/object_file.h"

#include <gelf.h>

/*
 * The content of section @scn, which libelf copies if it has another byte order, or is not aligned. NULL if
 * it is damaged, and if there is no memory for the copy, which is noted (machine_fault.h).
 */
Elf_Data *elf_table(const struct object_file *object, Elf_Scn *scn);

/*
 * Reads one symbol.
 *
 * @object:      the ELF file
 * @symbols:     content of the symbol table
 * @indexes:     its SHT_SYMTAB_SHNDX section, or NULL
 * @i:           index of the symbol
 * @ret_section: what to add to st_value for an address: of its section in a relocatable file, else 0
 *
 * False past the end of the table.
 */
bool symbol_read(struct object_file *object, Elf_Data *symbols, Elf_Data *indexes, size_t i, GElf_Sym *ret,
		 uint64_t *ret_section);

/* The SHT_SYMTAB_SHNDX section of a symbol table, or NULL. */
Elf_Data *extended_indexes(struct object_file *object, Elf_Scn *symtab);

#endif
