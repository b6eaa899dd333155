/*
 * enclosing.h - functions that reach past the start of the next one, as assembly with nested symbols has
 * them.
 *
 * The address table finds the function that starts last before an address. When that one has ended, an
 * earlier one may still go on: its function. Few functions are hosts, and few lookups miss, so an index of
 * hosts is made by the first lookup that needs it. Internal.
 */
#ifndef GSYM_READ_ENCLOSING_H
#define GSYM_READ_ENCLOSING_H

#include "gsym/read/reader.h"

#include <stdatomic.h>

void enclosing_index_free(struct enclosing_index *hosts);

/*
 * The innermost function that contains @off (counted from the base address), starting before the slot that
 * the address table gives: 0 and its index, -ENOENT when there is none, -ENOMEM. Any thread may call it.
 */
int enclosing_find(const struct gsym_reader *reader, uint64_t off, uint32_t *ret);

#endif
