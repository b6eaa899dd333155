/*
 * enclosing.h - functions that extend past the start of the next one, as assembly with nested symbols has
 * them.
 *
 * The address table gives the function that starts last before an address. If that one has ended, an
 * earlier one may enclose the address. Few functions enclose others and few lookups miss, so the index of
 * enclosing functions is built by the first lookup that needs it. Internal.
 */
#ifndef GSYM_READ_ENCLOSING_H
#define GSYM_READ_ENCLOSING_H

#include "gsym/read/reader.h"

/*
 * The innermost function that encloses @off (counted from the base address), starting before the entry
 * that the address table gives: 0 and its index, -ENOENT when there is none, -ENOMEM. Thread-safe.
 */
int enclosing_find(const struct gsym_reader *reader, uint64_t off, uint32_t *ret);

#endif
