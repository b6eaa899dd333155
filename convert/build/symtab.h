/*
 * symtab.h - symbols as functions: which of them name code, and where each one ends.
 */
#ifndef CONVERT_BUILD_SYMTAB_H
#define CONVERT_BUILD_SYMTAB_H

#include "convert/object/object_file.h"
#include "convert/record/func_record.h"
#include "gsym/base/sort.h"

struct code_symbol {
	uint64_t addr, end; /* end == addr: unknown */
	uint64_t reach;     /* the highest end of this and all symbols before it */
	const char *name;
	uint32_t order; /* in the symbol table */
	bool inferred;  /* its end is inferred: the symbol table has size 0 */
	bool label;     /* STT_NOTYPE, or a stub */
	bool marker;    /* its name marks the end of something: dropped unless a row begins there */
};

/* Ascending by address, then end, then order. */
typedef VEC(struct code_symbol) symbol_vec;

/*
 * Selects symbols of code from object->symbols and infers missing sizes. With @match_llvm: functions only,
 * with the sizes in the table. 0 or -ENOMEM.
 */
int symtab_prepare(const struct object_file *object, bool match_llvm, symbol_vec *ret);

/* The first symbol whose address is at least @addr, as index. */
size_t symtab_lower_bound(const symbol_vec *symbols, uint64_t addr);

/* Appends a record for every symbol, in symbol-table order. */
int symtab_add_records(const symbol_vec *symbols, struct pool *pool, record_vec *records);

/* ---- Labels of linker scripts, which name no code (markers.c) ---- */

/*
 * Finds the markers among the symbols of @object.
 *
 * @object:   with its symbols
 * @order:    its usable symbols, ascending by address
 * @n:        their number
 * @sections: of code, ascending
 * @ret:      set to true at the index of each marker; the others are left alone
 *
 * 0 or -ENOMEM.
 */
int markers_find(const struct object_file *object, const struct keyed *order, size_t n,
		 const range_vec *sections, bool *ret);

#endif
