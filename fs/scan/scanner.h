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

#include "convert/cache/cache.h"
#include "convert/run/identifier.h"
#include "fs/images/images.h"
#include "fs/scan/index.h"
#include "convert/os/log.h"
#include "convert/run/neighbour.h"
#include "fs/sys/starter.h"
#include "fs/scan/watch.h"

struct scan {
	/* Set before scan_start(), borrowed. */
	const char *source;     /* absolute path */
	const char *mountpoint; /* absolute path; not walked into */
	const char *worker;
	struct images *images;
	const struct neighbourhood *hood;
	struct cache *cache;
	const struct log *log;
	struct starter *starter; /* released after the first walk */
	int stop_fd;             /* becomes readable when the daemon ends */
	unsigned interval;       /* seconds between walks, 0 = only when asked */
	bool watching;           /* walk when the kernel tells of a change */

	int wake_fd; /* an eventfd: a walk was asked for */
	bool running;
	pthread_t thread;

	/* Of the scan thread. */
	struct index index;
	struct watch watch;
	uint32_t pass;
};

void scan_init(struct scan *scan);
int scan_start(struct scan *scan);
/* Ends the thread, if it runs; what stop_fd stands for must have been told before. */
void scan_stop(struct scan *scan);
void scan_deinit(struct scan *scan);

/* Asks for another walk, soon. Never blocks. */
void scan_request(struct scan *scan);

#endif
