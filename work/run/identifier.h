/*
 * identifier.h - identifies the images of a file in a worker process. Used by one thread at a time.
 *
 * The worker opens no paths and is replaced when it crashes.
 */
#ifndef WORK_RUN_IDENTIFIER_H
#define WORK_RUN_IDENTIFIER_H

#include "work/worker/child.h"
#include "work/types/image_identity.h"

/* Zero-initialise, then set what is borrowed. */
struct identifier {
	const char *worker; /* the gsym program */
	int stop_fd;        /* becomes readable when it is to stop */
	struct child child;
	uint64_t serial;
	bool asked; /* a worker was running when the file was to be sent, and */
	bool begun; /* it has the file */
};

/* What came of a file. */
struct identified {
	struct image_identity images[IDENTITIES_MAX];
	size_t n;              /* 0: it is no object file */
	uint64_t to_hash;      /* not 0: nothing else is known before so many bytes are hashed */
	enum fault fault;      /* of a failure */
	struct gsym_diag lost; /* what the file seems to lack, as if its copy broke off; else empty */
};

/*
 * Lists the images of the open file @fd of @size bytes, if no more than @hash_max of them must be hashed to
 * identify it. A worker that dies is replaced once and asked again.
 * 0; or a negative errno with @ret->fault and @diag set; -ECANCELED at shutdown; -ECHILD if no worker can be
 * started, or none lives long enough to take the file.
 */
int identify(struct identifier *identifier, int fd, uint64_t size, uint64_t hash_max, struct identified *ret,
	     struct gsym_diag *diag);

/* Ends the worker, if there is one. */
void identifier_stop(struct identifier *identifier);

#endif
