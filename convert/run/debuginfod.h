/*
 * debuginfod.h - debug files that are nowhere here, from the servers of debuginfod.
 *
 * Only with the option debuginfod=yes. elfutils' client asks the servers, in a process of its own ("gsym
 * worker fetch"), because it parses what the network sends; what it got stays in the directory that it shares
 * with other programs of the user, and is opened from there.
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
	/* Set at the start. Zero-initialised: nobody is ever asked. */
	uint64_t servers; /* a fingerprint of which ones; 0: none */
	char *directory;  /* of the client, an absolute path; its own */
	const char *worker;
	const struct log *log;
	struct run_counters *counters; /* borrowed, as are the two before it */
	uint64_t size;                 /* bytes a file may have */
	unsigned seconds;              /* it may take */
	int stop_fd;                   /* becomes readable when the daemon ends */

	/* Exponential backoff: after a failure no server is asked until @rest_until, for any id. */
	struct mutex lock;
	int64_t rest_until GUARDED_BY(&lock); /* monotonic_ms() */
	int64_t rest_ms GUARDED_BY(&lock);    /* length of the current backoff */
	int failure GUARDED_BY(&lock);        /* its cause: a negative errno */
};

/*
 * Finds out whom to ask ($DEBUGINFOD_URLS), and where the client keeps files: $DEBUGINFOD_CACHE_PATH,
 * ~/.debuginfod_client_cache if there is one, $XDG_CACHE_HOME/debuginfod_client, ~/.cache/debuginfod_client,
 * or a directory of @cache when nothing says whose home it is. All of them must be the daemon's own.
 */
int fetcher_open(struct fetcher *fetcher, const struct cache *cache, struct gsym_diag *diag);
void fetcher_close(struct fetcher *fetcher);

struct fetched {
	int fd; /* to read; the caller's; or a negative errno: */
		/* -ENOENT no server has it, -EFBIG it is too large, -ECANCELED the daemon ends, */
		/* others: nobody could be asked */
	char path[FETCH_PATH_SIZE]; /* of the file */
	int64_t again; /* else: not before that (seconds since the epoch) there is anything new */
};

/* Gets the debug file of a build id, of IMAGE_ID_MAX bytes at most. Takes as long as the servers do, but not
 * longer than @fetcher allows. */
void fetcher_get(struct fetcher *fetcher, const uint8_t *id, size_t size, struct fetched *ret);

/* Whether that means that servers could not be asked, rather than what they have. Pure. */
bool fetch_failed(int fd);

/* What to tell those who asked for what only a server could have told: -ETIMEDOUT or -EHOSTUNREACH. Pure. */
int fetch_errno(int err);

#endif
