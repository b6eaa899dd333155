/* scan_pass.h - one walk over SOURCE. Used by the scan thread alone. */
#ifndef FS_SCAN_SCAN_PASS_H
#define FS_SCAN_SCAN_PASS_H

#include "convert/cache/cache.h"
#include "convert/os/log.h"
#include "convert/run/neighbour.h"
#include "fs/images/images.h"
#include "fs/scan/hash_lane.h"
#include "fs/scan/index.h"
#include "fs/scan/watch.h"

struct metrics;

/* What walks share. */
struct scan {
	/* Borrowed. */
	const char *source;     /* absolute path */
	const char *mountpoint; /* absolute path; not walked into */
	const char *worker;
	struct images *images;
	const struct search_path *search;
	struct cache *cache;
	struct metrics *metrics;
	const struct log *log;
	int stop_fd; /* becomes readable when the daemon ends */

	struct hash_lane hashes; /* its thread fills it, see scanner.h */
	struct index index;
	struct watch watch;
	uint32_t pass;
	int64_t again; /* when a file is due that the last walk left out, in seconds since the epoch; or 0 */
};

/*
 * Walks, tells the images what was found, and what is gone if the walk was complete, and wakes the calls that
 * waited for it. 0 when it was complete and saw into all files but those that are due @again, else a negative
 * errno. On the scan thread. Ends early, with nothing
 * told to be gone, when the daemon ends.
 */
int scan_pass(struct scan *scan);

#endif
