/*
 * scan_pace.h - when the scanner walks over SOURCE, and when it looks at what has changed.
 *
 * It only computes; scanner.c waits. Times are milliseconds of monotonic_ms(), INT64_MAX is never.
 * Zero-initialised it has seen no walk.
 */
#ifndef FS_SCAN_SCAN_PACE_H
#define FS_SCAN_SCAN_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct scan_pace {
	unsigned retry; /* seconds after the next walk that leaves something unknown; 0: of the first */
	int64_t ended;  /* the last walk */
	int64_t rest;   /* no walk before it because of changes */
	int64_t due;    /* a walk, whatever happens */
	int64_t look;   /* for changes, not before it */
	int64_t first;  /* change that was seen, or 0 */
};

/* A walk that has ended. */
struct scan_walk {
	int err;           /* what it left unknown, or 0 */
	int64_t took;      /* of a processor, ms */
	unsigned interval; /* seconds until the next one in any case, 0 = none */
	int64_t limit;     /* seconds until a file is due that it left out; INT64_MAX: there is none */
	bool watching;     /* changes are reported */
};

/* Decides when the next walk is due. */
void scan_pace_walked(struct scan_pace *pace, int64_t now, const struct scan_walk *walk);

/* A walk was asked for. */
void scan_pace_request(struct scan_pace *pace);

/* Returns whether to look at the changes so far. @any: there are more, to be collected otherwise. */
bool scan_pace_look_now(const struct scan_pace *pace, int64_t now, bool any);

/* Changes were collected; @relevant: some may concern files. */
void scan_pace_changed(struct scan_pace *pace, int64_t now, bool relevant);

/* A look has ended, which took @took ms of a processor. @walk: only a walk can tell what has changed. */
void scan_pace_looked(struct scan_pace *pace, int64_t now, int64_t took, bool walk);

/* How long to wait for events at most, ms. @looking: changes are among them. */
int scan_pace_timeout(const struct scan_pace *pace, int64_t now, bool looking);

#endif
