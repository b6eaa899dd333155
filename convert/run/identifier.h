/*
 * identifier.h - asking a worker what a file is. For one thread at a time.
 *
 * The worker opens nothing by name and is replaced when a file breaks it.
 */
#ifndef CONVERT_RUN_IDENTIFIER_H
#define CONVERT_RUN_IDENTIFIER_H

#include "convert/run/child.h"
#include "convert/record/convert_types.h"

/* Zero-initialise, then set what is borrowed. */
struct identifier {
	const char *worker; /* the gsym program */
	int source_fd;      /* the directory the files lie in */
	int stop_fd;        /* becomes readable when it is to stop */
	struct child child;
	uint64_t serial;
};

/*
 * Which images the open file @fd of @size bytes holds: none when it is no object file. -EBADMSG: it cannot be
 * read as what it claims to be, or it broke the worker; @diag says how. Any other error is not the file's
 * fault: -ECANCELED at the end, -ECHILD when no worker can be started, or the errno of reading.
 */
int identify(struct identifier *identifier, int fd, uint64_t size,
	     struct image_identity ret[static IDENTITIES_MAX], size_t *ret_n, struct gsym_diag *diag);

/* Ends the worker, if there is one. */
void identifier_stop(struct identifier *identifier);

#endif
