/* scan_state.h - what all scans of SOURCE share, and a walk over all of it. Used by the scan thread alone. */
#ifndef FS_SCAN_SCAN_STATE_H
#define FS_SCAN_SCAN_STATE_H

#include "work/cache/cache.h"
#include "work/os/log.h"
#include "work/run/neighbour.h"
#include "fs/images/images.h"
#include "fs/scan/hash_lane.h"
#include "fs/scan/index.h"
#include "fs/scan/skipped.h"
#include "fs/scan/watch.h"

struct metrics;
struct remote;

/* A directory that is scanned. */
struct scan_root {
	char *path;        /* absolute */
	const char *below; /* the same below scan.source; "": it is that */
};

struct scan {
	/* Borrowed. */
	const char *source;            /* absolute path, to which all others are relative */
	const struct scan_root *roots; /* what of it is scanned, the first one wins; none is in another */
	size_t n_roots;
	const char *names;      /* all of them, for messages */
	const char *mountpoint; /* absolute path; not walked into */
	const char *worker;
	struct images *images;
	const struct search_path *search;
	struct cache *cache;
	struct metrics *metrics;
	struct skipped *skipped;
	struct remote *remote; /* NULL: none */
	const struct log *log;
	int stop_fd; /* becomes readable when the daemon ends */

	struct hash_lane hashes; /* its thread fills it, see scanner.h */
	struct index index;
	struct watch watch;
	struct changes changes; /* not scanned yet */
	uint32_t pass;
	bool had_images;    /* a scan has found some, or that of a daemon before */
	size_t unsaved;     /* records changed since the index was saved */
	size_t n_records;   /* of the index after the last walk */
	size_t n_truncated; /* files with a truncated id in the last walk */
	int64_t again; /* when a file that the last walk skipped is due, in seconds since the epoch; or 0 */
};

/* ---- scan_pass.c ---- */

/*
 * Walks over SOURCE, updates the images, removes what is gone if the walk was complete, and wakes the calls
 * that waited for it. 0 when it was complete and every file is identified but those that are due @again, else
 * a negative errno. Ends early, and removes nothing, when the daemon ends.
 */
int scan_pass(struct scan *scan);

#endif
