/*
 * identifier.h - identifies the images of a file in a worker process. Used by one thread at a time.
 *
 * The worker opens no paths and is replaced when it crashes.
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
 * Lists the images of the open file @fd of @size bytes, none if it is not an object file. 0; -EBADMSG if it
 * is malformed or crashes the worker, with @diag set. Other errors are not the file's fault: -ECANCELED at
 * shutdown, -ECHILD if no worker can be started, or the errno of reading.
 */
int identify(struct identifier *identifier, int fd, uint64_t size,
	     struct image_identity ret[static IDENTITIES_MAX], size_t *ret_n, struct gsym_diag *diag);

/* Ends the worker, if there is one. */
void identifier_stop(struct identifier *identifier);

#endif
