/*
 * object_symbols.h - what GSYM does not hold: variables by address, aliases of functions by name, sections.
 * Read from the object file, which is as hostile as any.
 */
#ifndef CLI_SYMBOLIZER_OBJECT_SYMBOLS_H
#define CLI_SYMBOLIZER_OBJECT_SYMBOLS_H

#include "convert/object/object_file.h"

struct object_symbol {
	const char *name; /* borrowed from the object file */
	uint64_t addr, size;
};

/* The symbol of a variable or function that has @addr, or the last before it that tells no size. False if
 * there is none. */
bool object_symbol_at(struct object_file *object, uint64_t addr, struct object_symbol *ret);

/* The first symbol of a function with that name. */
bool object_symbol_called(struct object_file *object, const char *name, size_t size,
			  struct object_symbol *ret);

#endif
