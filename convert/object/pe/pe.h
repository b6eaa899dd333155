/*
 * pe.h - the parts of the reader of PE files. Source: Microsoft's "PE Format". Constants are defined here,
 * because other systems lack its headers.
 *
 * A relative virtual address (RVA) counts from the image base. Symbols have addresses with the image base
 * added, as debug data has.
 */
#ifndef CONVERT_OBJECT_PE_PE_H
#define CONVERT_OBJECT_PE_PE_H

#include "convert/object/coff.h"
#include "convert/object/source_format.h"
#include "convert/record/budget.h"
#include "gsym/base/cursor.h"
#include "gsym/base/invariant.h"

/* Indexes of data directories. */
enum {
	DIRECTORY_EXPORT = 0,
	DIRECTORY_IMPORT = 1,
	DIRECTORY_EXCEPTION = 3,
	DIRECTORY_DEBUG = 6,
	DIRECTORY_DELAY_IMPORT = 13,
	DIRECTORIES = 16,
};

enum { COFF_SYMBOL_SIZE = 18 };

struct pe_directory {
	uint32_t rva, size;
};

/* Bytes of the file that are loaded at @rva. */
struct pe_piece {
	uint32_t rva;
	struct span bytes;
};

struct pe {
	uint16_t machine; /* IMAGE_FILE_MACHINE_ */
	uint32_t n_symbols;
	struct span symbols; /* of the COFF symbol table; empty if it lies outside of the file */
	struct span strings; /* from its size on, which offsets count; ends with a NUL, or empty */
	struct pe_directory directories[DIRECTORIES];
	VEC(struct pe_piece) pieces; /* ascending */
	bool has_symbols;            /* a symbol table or a PDB file names the functions, thunks among them */
	uint32_t pdb_age;            /* of the CodeView record, like object->id */
	const char *pdb_path;        /* there, in the mapping; NULL: none */
};

static inline struct pe *pe_of(const struct object_file *object)
{
	invariant(object->format == &pe_format);
	return object->own;
}

/*
 * Code of Windows for ARM is Thumb code. Linkers set bit 0 of its addresses: in exports, unwind data and
 * pointers, and lld in debug data, too; not in the symbol table.
 */
static inline bool pe_is_thumb(const struct object_file *object)
{
	return pe_of(object)->machine == IMAGE_FILE_MACHINE_ARMNT ||
	       pe_of(object)->machine == IMAGE_FILE_MACHINE_THUMB;
}

/* ---- The image as it is loaded (pe_image.c) ---- */

/* The bytes from @rva to the end of what is loaded with them; empty if there are none. */
struct span pe_bytes(const struct object_file *object, uint64_t rva);

/* Those of a data directory, cut where the file has no more. */
struct span pe_directory_bytes(const struct object_file *object, unsigned index);

/* The text at @rva, or NULL: it does not end, or exceeds the budget. */
const char *pe_text(const struct object_file *object, uint64_t rva, struct name_budget *budget);

/* The GUID of the CodeView record becomes object->id, in the order of bytes of its text; see struct pe. */
void pe_read_id(struct object_file *object);

/* -EINVAL if @debug is a PDB file of another age than @pe expects, else 0. */
int pe_check_age(const struct object_file *pe, const struct object_file *debug, struct gsym_diag *diag);

/* See object_load_symbols() and object_load_plt(). */
int pe_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources);
int pe_load_thunks(struct object_file *object, const struct object_file *symtab);

/* Adds a symbol if it is in code; @addr may have the bit of Thumb code set. 0 or -ENOMEM. */
int pe_add_symbol(struct object_file *object, uint64_t addr, const char *name, enum symbol_type type,
		  bool global);

/* ---- Functions in the table of unwind data (pe_unwind.c) ---- */

/*
 * Functions of the exception directory, ascending by address. Parts whose unwind data is chained to that of
 * the function they follow are joined with it. @damaged counts impossible entries. 0 or -ENOMEM.
 */
int pe_list_functions(const struct object_file *object, range_vec *ret, struct damaged_entries *damaged);

/* Fills object->functions, and gives each symbol that begins one of them its size. 0 or -ENOMEM. */
int pe_bound_symbols(struct object_file *object);

/* ---- Imported functions (pe_imports.c) ---- */

struct pe_import {
	uint64_t slot; /* address of its pointer in the import address table */
	const char *name;
};

typedef VEC(struct pe_import) pe_imports;

/* Imports by name, ascending by slot. 0 or -ENOMEM. */
int pe_list_imports(const struct object_file *object, pe_imports *ret);

#endif
