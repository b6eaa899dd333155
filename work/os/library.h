/* library.h - a shared library that is loaded when it is needed. */
#ifndef WORK_OS_LIBRARY_H
#define WORK_OS_LIBRARY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "gsym/gsym.h"

/* A function of the library, and where its address goes. */
struct library_symbol {
	const char *name;
	size_t member; /* offset in @functions of the library */
};

struct shared_library {
	const char *package;    /* of Debian, for messages */
	const char *sonames[3]; /* in the order of preference; ends with NULL */
	const struct library_symbol *symbols;
	size_t n_symbols;
	void *functions;                  /* a struct of function pointers */
	bool (*initialize)(void *opened); /* @opened: as of dlopen(3), for other functions */
	pthread_mutex_t lock;             /* guards the writing of @functions; PTHREAD_MUTEX_INITIALIZER */
	atomic_bool is_loaded;            /* @functions is complete, and does not change any more */
};

/*
 * Loads the first library of @sonames that is there, fills @functions, and initializes it, once: it stays
 * loaded. What failed is tried again by the next call, since memory or descriptors may have been short. By
 * any thread.
 *
 * Whether it is loaded; if not, @diag says why.
 */
bool library_load(struct shared_library *library, struct gsym_diag *diag);

#endif
