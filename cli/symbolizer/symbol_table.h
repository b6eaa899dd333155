/*
 * symbol_table.h - the symbol table of an ELF file as the original programs read it: what GSYM does not hold,
 * as variables, aliases of functions, labels that reach up to the next one, and the files of local symbols.
 */
#ifndef CLI_SYMBOLIZER_SYMBOL_TABLE_H
#define CLI_SYMBOLIZER_SYMBOL_TABLE_H

#include "convert/object/object_file.h"
#include "gsym/base/vec.h"

/* Strings are borrowed from the object file. */
struct object_symbol {
	const char *name;
	size_t index; /* in the table */
	uint64_t addr, size;
	const char *file; /* the last one named before it, or NULL */
	bool is_local;
	bool is_alone; /* no other file was named after a symbol: it is of @file even if it is global */
	bool is_data;
};

/* By address, of several at one the largest last. */
struct symbol_table {
	VEC(struct object_symbol) list;
};

/*
 * Reads .symtab of @object, or .dynsym without one; other formats than ELF have none here. @tagged: addresses
 * keep what they have in their first byte. 0 or -ENOMEM.
 */
int symbol_table_read(struct object_file *object, bool tagged, struct symbol_table *ret);

/* Without the tag that a pointer may carry in its first byte. */
uint64_t symbol_address_untagged(uint64_t addr);

/* The symbol that has @addr, or the last before it that tells no size; or NULL. */
const struct object_symbol *symbol_table_at(const struct symbol_table *table, uint64_t addr);

/* The first function or label with that name, or NULL. */
const struct object_symbol *symbol_table_called(const struct symbol_table *table, const char *name,
						size_t size);

void symbol_table_deinit(struct symbol_table *table);

#endif
