/*
 * scanner_fixture.h - a scanner whose clocks, events and scans are made up. The clocks go on only while its
 * thread waits; what happens meanwhile is a list of events; what it does becomes a text.
 */
#ifndef TESTS_SCANNER_FIXTURE_H
#define TESTS_SCANNER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/unit.h"

#include "fs/scan/scanner.h"

enum {
	EPOCH = 1000000000, /* what time(2) says at the start */
	EVENTS = 16,
	WALKS = 16,
};

struct scan_event {
	int64_t at; /* ms after the start */
	enum {
		NOTHING, /* the end of the list */
		STOP,
		REQUEST,
		/* What inotify tells. */
		ENTRY,
		UNRELATED,
		NEIGHBOURS,
		EVICTED,
		ALL,
	} what;
};

/* Of a walk or a look: CPU time of the thread, and of workers, in user mode and in the kernel; µs. */
struct scan_cost {
	int64_t own, user, kernel;
};

/* What the scanner meets. Zero: nothing happens, all succeeds at once. */
extern struct scanner_script {
	struct scan_event events[EVENTS];
	int walk_errs[WALKS]; /* of each walk, then 0 */
	int64_t again;        /* seconds after EPOCH, set by the first walk; 0: none */
	struct scan_cost first_walk, walk, look;
	int look_err;
	size_t unsaved, undigested; /* when it ends */
	unsigned interrupts;        /* the first so many polls are interrupted */
	bool no_watch;              /* inotify is not available */
	bool no_stdin;              /* closed after the eventfd was made: the next file has the number 0 */
	int eventfd_err, hash_err, digest_err, thread_err;
} with;

/* What the thread has done, a word each: scans and looks with their times, looks with their paths. */
extern char did[2048];
/* What was done with threads and with what the scanner owns. */
extern char handled[2048];

extern struct scanner scanner;
extern char source[64]; /* the directory SOURCE; NUL at the end, with room for one more character */

/* Forgets all; initializes the scanner. */
void scanner_reset(void);
void scanner_prepare(void);

size_t count_descriptors(void);

#define EVENTS_ARE(...) \
	memcpy(with.events, (struct scan_event[]){__VA_ARGS__}, sizeof((struct scan_event[]){__VA_ARGS__}))

#endif
