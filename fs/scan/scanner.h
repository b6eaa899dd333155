/*
 * scanner.h - scans SOURCE at start, after changes, on request and periodically.
 *
 * The daemon itself only lists directories and opens files; a worker identifies them
 * (work/run/identifier.h), and the index keeps the result. One thread does all of it but hashing files
 * without an id (hash_lane.h).
 */
#ifndef FS_SCAN_SCANNER_H
#define FS_SCAN_SCANNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/scan/scan_state.h"

struct starter;

struct scanner {
	/* Set before scanner_start(). */
	struct scan scan;        /* from then on the thread's */
	struct starter *starter; /* borrowed; released after the first walk */
	unsigned interval;       /* seconds between walks, 0 = only when asked */
	bool watching;           /* scan after inotify events */

	int wake_fd; /* an eventfd: a walk was asked for */
	bool running;
	pthread_t thread;
};

void scanner_init(struct scanner *scanner);
int scanner_start(struct scanner *scanner);
/* Joins the threads, if they run; stop_fd must be readable already. */
void scanner_stop(struct scanner *scanner);
void scanner_deinit(struct scanner *scanner);

/* Asks for another walk, soon. Never blocks. */
void scanner_request(struct scanner *scanner);

#endif
