/*
 * scanner.h - walking over SOURCE: at the start, when something has changed, when asked, and now and then.
 *
 * The daemon itself only lists directories and opens files; what a file is, a worker says
 * (convert/run/identifier.h), and the index remembers. One thread does all of it.
 */
#ifndef FS_SCAN_SCANNER_H
#define FS_SCAN_SCANNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/scan/scan_pass.h"

struct starter;

struct scanner {
	/* Set before scanner_start(). */
	struct scan scan;        /* from then on the thread's */
	struct starter *starter; /* borrowed; released after the first walk */
	unsigned interval;       /* seconds between walks, 0 = only when asked */
	bool watching;           /* walk when the kernel tells of a change */

	int wake_fd; /* an eventfd: a walk was asked for */
	bool running;
	pthread_t thread;
};

void scanner_init(struct scanner *scanner);
int scanner_start(struct scanner *scanner);
/* Ends the thread, if it runs; what stop_fd stands for must have been told before. */
void scanner_stop(struct scanner *scanner);
void scanner_deinit(struct scanner *scanner);

/* Asks for another walk, soon. Never blocks. */
void scanner_request(struct scanner *scanner);

#endif
