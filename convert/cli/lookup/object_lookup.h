/* object_lookup.h - an object file as GSYM: from the user's cache, else converted by a caged worker. */
#ifndef CONVERT_CLI_LOOKUP_OBJECT_LOOKUP_H
#define CONVERT_CLI_LOOKUP_OBJECT_LOOKUP_H

#include "convert/cache/handle.h"

struct object_options {
	const char *arch;  /* which image of a fat file; NULL: the only one, or that of this machine */
	const char *cache; /* the directory; NULL: the default, which is that of gsymfs */
};

/*
 * Opens the image in the object file @path: 0, with a reference for the caller. -ENOEXEC when it is no object
 * file; after any other errno a message has been printed. SIGINT, SIGTERM and SIGHUP end a conversion, and
 * then the process.
 */
int object_lookup_open(const char *path, const struct object_options *options, struct handle **ret);

#endif
