/*
 * name_match.h - matching symbols with functions of the DWARF by name.
 */
#ifndef CONVERT_RECORD_NAME_MATCH_H
#define CONVERT_RECORD_NAME_MATCH_H

#include "convert/record/func_record.h"

/* Whether a string is a mangled name (C++, Rust, Swift). */
bool string_is_mangled(const struct pool *pool, uint32_t string);

/*
 * Whether @symbol is a name of the function that DWARF calls @name: the same, with a suffix of a clone or a
 * symbol version (".isra.0", "@GLIBC_2.2.5"), or a mangled name that contains its plain name, because DWARF
 * often has no linkage name of static functions, and CodeView none. The hashes are not used.
 */
bool name_matches(const struct pool_string *symbol, const struct pool_string *name);

/* The same for strings of a pool: a symbol, and the unqualified name of @r. */
bool symbol_matches(uint32_t symbol_name, const struct func_record *r, const struct pool *pool);

#endif
