/*
 * debuginfod.h - fetches missing debug files from debuginfod servers.
 *
 * Only with the option debuginfod=yes. elfutils' client library runs in a process of its own ("gsym worker
 * fetch"), because it parses data from the network. Files stay in the client's cache directory, which other
 * programs of the user share, and are opened from there.
 */
#ifndef CONVERT_RUN_DEBUGINFOD_H
#define CONVERT_RUN_DEBUGINFOD_H

#include "convert/os/mutex.h"
#include <stddef.h>
#include <stdint.h>

#include "convert/cache/cache.h"
#include "convert/os/log.h"
#include "convert/run/counters.h"

enum { FETCH_PATH_SIZE = 4096 };

struct fetcher {
	/* Constant after fetcher_open(). Zero-initialised: no servers. */
	uint64_t servers; /* hash of their URLs; 0: none */
	char *directory;  /* the client's cache, an absolute path; owned */
	const char *worker;
	const struct log *log;
	struct run_counters *counters; /* borrowed, as are the two before it */
	uint64_t size;                 /* limit of a file's size in bytes */
	unsigned seconds;              /* limit of a request's duration */
	int stop_fd;                   /* becomes readable when the daemon ends */

	/* Exponential backoff: after a failure no server is asked until @rest_until, for any id. */
	struct mutex lock;
	int64_t rest_until GUARDED_BY(&lock); /* monotonic_ms() */
	int64_t rest_ms GUARDED_BY(&lock);    /* length of the current backoff */
	int failure GUARDED_BY(&lock);        /* its cause: a negative errno */
};

/*
 * Reads the servers from $DEBUGINFOD_URLS and determines the client's cache directory:
 * $DEBUGINFOD_CACHE_PATH,
 * ~/.debuginfod_client_cache if that exists, $XDG_CACHE_HOME/debuginfod_client, ~/.cache/debuginfod_client,
 * or a directory of @cache if HOME is not set. It must belong to the daemon's user. 0 or a negative errno.
 */
int fetcher_open(struct fetcher *fetcher, const struct cache *cache, struct gsym_diag *diag);
void fetcher_close(struct fetcher *fetcher);

struct fetched {
	/*
	 * For reading, the caller's to close; or a negative errno: -ENOENT if no server has the file, -EFBIG
	 * if it is too large, -ECANCELED if the daemon shuts down, others if no server could be reached.
	 */
	int fd;
	char path[FETCH_PATH_SIZE]; /* of the file */
	int64_t again;              /* without a file: when to request it again, in seconds since the epoch */
};

/*
 * Fetches the debug file of a build id of at most IMAGE_ID_MAX bytes. Blocks until the servers reply, but
 * not longer than fetcher->seconds, nor, if @silence is not 0 and $DEBUGINFOD_TIMEOUT not set, longer than
 * @silence seconds while they send nothing.
 */
void fetcher_get(struct fetcher *fetcher, const uint8_t *id, size_t size, unsigned silence,
		 struct fetched *ret);

/* Whether @fd, of struct fetched, means that no server could be reached. Pure. */
bool fetch_failed(int fd);

/* The errno for calls that need data which only a server could provide: -ETIMEDOUT or -EHOSTUNREACH. Pure. */
int fetch_errno(int err);

#endif
