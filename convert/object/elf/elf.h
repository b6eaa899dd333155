/*
 * elf.h - the parts of the ELF reader that elf_format is put together from.
 */
#ifndef CONVERT_OBJECT_ELF_ELF_H
#define CONVERT_OBJECT_ELF_ELF_H

#include "convert/object/object_file.h"
#include "convert/object/source_format.h"
#include "gsym/base/cursor.h"
#include "gsym/base/invariant.h"

#include <gelf.h>
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

/*
 * Fills object->functions from .ARM.exidx or .eh_frame, which say where functions begin and end. 0 or
 * -ENOMEM (elf_unwind.c).
 */
int elf_list_functions(struct object_file *object);

/* ---- Tables of an ELF file, and one entry of a symbol table (elf_symbol.c) ---- */

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

/* ---- Tables of a file without section headers (elf_dynamic.c) ---- */

/* The bytes in the file of the first segment of that type, and its address; empty if there is none. */
struct span elf_segment(const struct object_file *object, uint32_t type, uint64_t *ret_addr);

/* The entries of PT_DYNAMIC's symbol table: as many as its hash table has. NULL if there are none. */
Elf_Data *elf_dynamic_symbols(const struct object_file *object);

/* The names of them, and of the file. */
struct span elf_dynamic_strings(const struct object_file *object);

/* The offset of DT_SONAME in the names; false if @dynamic has none. */
bool elf_soname(const struct object_file *object, struct span dynamic, uint64_t *ret);

/* ---- Function descriptors of 64-bit PowerPC, ELFv1 ABI (opd.c) ---- */

/*
 * A function's symbol is the address of its descriptor in .opd, whose first doubleword is the address of the
 * code. Source: 64-bit PowerPC ELF ABI supplement 1.9, 3.2.
 */

/* Finds the descriptors of @object, with relocations applied in relocatable files. 0 or -ENOMEM. */
int descriptors_open(struct object_file *object);

/* The address of the code when @addr is that of a descriptor, else @addr. */
uint64_t descriptor_code(const struct object_file *object, uint64_t addr);

/*
 * Older compilers name code ".name" and the descriptor "name", with the size of a descriptor: of such pairs
 * only the symbol of the code is kept. 0 or -ENOMEM.
 */
int descriptors_join(struct object_file *object);

/* ---- Stubs of procedure linkage tables (plt_stub.c) ---- */

/*
 * Linkers lay out these tables in many ways, and no table maps entries to relocations. The code does: every
 * stub loads a pointer from a slot of the global offset table, and the relocation of that slot names the
 * function. One decoder a machine; a new machine is one decode_*() function and its cases in stub_step() and
 * stub_decode(). Encodings are those of the architecture manuals and processor supplements.
 */

/* What decoding depends on. */
struct stub_machine {
	uint16_t machine; /* e_machine */
	uint8_t addr_size;
	bool big;      /* byte order of instructions */
	bool big_data; /* byte order of data between them */
	uint64_t base; /* base register of slot addresses: %ebx (i386), r2 (ppc64); 0 = unknown */
};

struct stub {
	uint64_t slot;   /* address of the pointer, when by_symbol is false */
	uint64_t symbol; /* index in .dynsym, when it is true */
	bool by_symbol;
	unsigned size;   /* upper bound of its bytes */
	unsigned prefix; /* of them before the instructions that identify it: no other stub begins there */
};

/* The alignment of stubs of this machine in bytes; 0: its stubs cannot be decoded. */
unsigned stub_step(const struct stub_machine *m);

/* Decodes the stub at the position of @code, which has address @addr. False when there is none. */
bool stub_decode(const struct stub_machine *m, struct cursor code, uint64_t addr, struct stub *ret);

#endif
