/*
 * store_child_fixture.h - "gsym worker store" whose engines and sandboxes do nothing but tell what they are
 * given. It runs in a child of the test.
 */
#ifndef TESTS_STORE_CHILD_FIXTURE_H
#define TESTS_STORE_CHILD_FIXTURE_H

#include <stdbool.h>

#include "tests/lib/unit.h"

/* What the process meets. Zero: all succeeds. */
extern struct store_child_script {
	int limits_err;
	int open_err;            /* -EBADMSG: with a reason that is longer than a reply */
	bool no_stdin;           /* files that are received may get the number 0 */
	unsigned fails_at;       /* the number of the thread that cannot be started, from 1; 0: none */
	const char *credentials; /* the file of S3's keys; NULL: none */
} with;

enum {
	REQUEST_SIZE = 17, /* of requests for objects */
	NOT_CLOSED = 98,   /* exit statuses of the process beside its own */
	CLOSED_EARLY = 99,
};

/*
 * What an engine does says the name of the object:
 *
 *	steps     the text of its reply is what was done, in this order
 *	tell      ..., what the engine was given
 *	threads   the size is the number of threads that were to be started
 *	hold      goes on until the file is readable, or until it is cancelled
 *	begun     tells that the answer has begun
 *	fails     -EREMOTEIO, with a text as long as can be
 *	etag/N    has that tag, see known_etags
 *	long/N    has a tag of so many bytes
 */
enum { GOOD_ETAGS = 3 };
extern const char *const known_etags[]; /* GOOD_ETAGS that may be sent, then others, then NULL */

/* Runs it with that socket. Its exit status, or one of those above. */
int store_child_serve(int sock);

#endif
