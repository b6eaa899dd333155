/*
 * own_symbol.h - which of several symbols at one address belongs to a function of the DWARF data.
 */
#ifndef CONVERT_FINISH_OWN_SYMBOL_H
#define CONVERT_FINISH_OWN_SYMBOL_H

#include "convert/record/func_record.h"

/* Whether a string is a mangled name (C++, Rust, Swift). */
bool string_is_mangled(const struct pool *pool, uint32_t string);

/*
 * Whether a symbol's name is that of the function @r: the same, a clone or a version of it (".isra.0",
 * "@GLIBC_2.2.5"), or mangled with its short name inside, for DWARF often has no linkage name of static
 * functions.
 */
bool is_own_symbol(uint32_t symbol_name, const struct func_record *r, const struct pool *pool);

#endif
