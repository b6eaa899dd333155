/* library.h - a shared library that is loaded when it is needed. */
#ifndef CONVERT_OS_LIBRARY_H
#define CONVERT_OS_LIBRARY_H

#include <stddef.h>

/* A function of the library, and where its address goes. */
struct library_symbol {
	const char *name;
	size_t member; /* offset in the struct of library_load() */
};

/*
 * Loads the first library of @sonames that is there, and fills the struct @functions with the addresses of
 * all @n of @symbols. It stays loaded.
 *
 * @sonames: ends with NULL
 *
 * The library as of dlopen(3), for functions that are not in the struct; NULL if there is none, or if it
 * lacks one of the functions.
 */
void *library_load(const char *const *sonames, const struct library_symbol *symbols, size_t n,
		   void *functions);

#endif
