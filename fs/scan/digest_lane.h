/*
 * digest_lane.h - digests whole files in the background, in a thread of its own.
 *
 * Only what a conversion would be made of: the files chosen for each image, first of images that something
 * was asked of, then of all others, the richest first. After each scan it looks for files that have none yet.
 *
 * The thread reads with idle I/O priority, at most @rate bytes a second, at most a quarter of a processor,
 * and nothing while images are converted. It parses nothing, so no worker is needed.
 */
#ifndef FS_SCAN_DIGEST_LANE_H
#define FS_SCAN_DIGEST_LANE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct images;
struct log;
struct metrics;

struct digest_lane {
	/* Set before digest_lane_start(), borrowed. */
	struct images *images;
	struct metrics *metrics;
	const struct log *log;
	const char *source; /* absolute path */
	int stop_fd;        /* becomes readable when the daemon ends */
	uint64_t rate;      /* bytes a second; 0: no files are digested */

	int wake_fd; /* an eventfd: a scan has ended */
	bool running;
	pthread_t thread;
};

void digest_lane_init(struct digest_lane *lane);
/* 0 or a negative errno. */
int digest_lane_start(struct digest_lane *lane);
/* Joins the thread, if it runs; stop_fd must be readable already. */
void digest_lane_stop(struct digest_lane *lane);
void digest_lane_deinit(struct digest_lane *lane);

/* There may be new files. Never blocks. */
void digest_lane_wake(const struct digest_lane *lane);

#endif
