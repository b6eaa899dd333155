/*
 * object_share_fixture.h - a store and a converter that answer by a script, and a directory with an object
 * file for a command that uses them. Time does not pass; signals are real.
 */
#ifndef TESTS_OBJECT_SHARE_FIXTURE_H
#define TESTS_OBJECT_SHARE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/command/message.h" /* before a macro of cmocka has the name of a function in it */
#include "tests/lib/unit.h"

#include "cli/store/object_share.h"
#include "work/run/converter.h"

enum { SERVERS_HASH = 4712 }; /* of SERVERS */
#define SERVERS "http://a http://b"

/* What a conversion comes to. */
struct put_result {
	enum verdict verdict;
	bool has_handle, has_offer, adopted;
	unsigned wait_ms;
	int err;
	const char *text;
};

/* What the command meets. Zero: all succeeds at once. */
extern struct object_share_script {
	int signalfd_err, open_err, start_err, rename_err;
	int bundle_err, lookup_err, digest_err, key_err, take_err, offer_err;
	const char *text;         /* that comes with an error */
	const char *bundle;       /* where the object file is, unless it is where the command says */
	struct store_reply reply; /* of taking */
	unsigned busy;            /* so often another process has the lock of the entry */
	bool no_lock;             /* locks do not work */
	bool is_cached;           /* the first of the results is */
	struct put_result results[4];
	enum share_result given; /* what comes of what is given; SHARE_HIT: nothing is known */
	unsigned stop_at;        /* the number of the look at the signals before which one comes, from 1 */
	bool unmerged;
} with;

extern char did[1024]; /* what was done, a word each */

/* "<path> <directories, with colons> <number of sources> <arch> <cache>" of the last image. */
extern char searched[1024];

extern struct handle *const any_handle;
extern int lock_fd;        /* of the entry; -1: none */
extern unsigned n_signals; /* that were delivered */

/* The command. */
extern struct object_share o;
extern struct option_list debug_dirs, sources;
extern struct object_share_options options; /* with these */

int object_share_set_up(void **state);
int object_share_tear_down(void **state);

/* Forgets script and options. */
void object_share_reset(void);

/* The allocation after @n others fails; whether it did. */
void fail_allocation(long n);
bool has_failed_allocation(void);

size_t count_descriptors(void);

/*
 * The working directory has an object file source/object, and a directory debug, which link leads to. The
 * absolute path of @name there, until the eighth call after this.
 */
const char *in_directory(const char *name);

/* Opens a store; @want: what is said. Closes it. */
void open_share(const char *want);
void close_share(void);

#endif
