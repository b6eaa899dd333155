/*
 * convert_run.h - one image from its object file into the cache, by a worker process.
 */
#ifndef CONVERT_RUN_CONVERT_RUN_H
#define CONVERT_RUN_CONVERT_RUN_H

#include "convert/cache/cache.h"
#include "convert/run/debuginfod.h"
#include "fs/images/images.h"
#include "convert/run/neighbour.h"
#include "convert/cache/shared_dir.h"

/* What conversions need to know; the same for all. Everything is borrowed. */
struct converter {
	const char *source; /* the directory, an absolute path */
	const char *worker; /* the gsym program */
	struct neighbourhood hood;
	struct fetcher *fetcher; /* asked only if it has servers */
	struct cache *cache;
	struct shared_dir *shared;
	struct metrics *metrics;
	const struct log *log;
	uint64_t memory; /* bytes */
	unsigned seconds;
	unsigned threads;
	bool merged;
	int stop_fd; /* becomes readable when the daemon ends */
};

enum verdict {
	VERDICT_READY,
	VERDICT_OUTDATED,       /* it was ready, and what it was made of has changed */
	VERDICT_REPLACED,       /* the object file changed since it was scanned */
	VERDICT_TRANSIENT,      /* the next try may work: full disk, killed worker */
	VERDICT_CRASHED,        /* the worker broke; it may not be the file's fault, once */
	VERDICT_FAILED,         /* as long as the limits are what they are */
	VERDICT_FAILED_FOREVER, /* as long as the file is what it is */
};

struct outcome {
	enum verdict verdict;
	int err;               /* for those who wait: 0 or a negative errno */
	struct gsym_diag diag; /* why */
	struct handle *handle; /* with VERDICT_READY: one reference, the caller's */
	int64_t again;         /* of a failure: not before that, in seconds since the epoch; 0: see verdict */
	char *inputs;          /* of a failure: the caller's, or NULL */
	double seconds;        /* of the conversion, 0 = there was none */
	bool adopted;          /* another host had converted it */
	struct share_offer *offer; /* the caller's, for share_give(); or NULL */
};

/* Looks for the converted file, or for the memory of a failure. False when there is neither. */
bool convert_from_cache(const struct converter *converter, const struct revision *rev, struct outcome *ret);

/* Converts. Stores its progress in the revision. Blocks until it is done, has failed or is told to stop. */
void convert_run(const struct converter *converter, struct revision *rev, struct outcome *ret);

#endif
