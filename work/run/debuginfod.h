/*
 * debuginfod.h - fetches missing debug files from debuginfod servers.
 *
 * Only with the option debuginfod=yes. elfutils' client library runs in a process of its own ("gsym worker
 * fetch"), because it parses data from the network. Files stay in the client's cache directory, which other
 * programs of the user share, and are opened from there.
 */
#ifndef WORK_RUN_DEBUGINFOD_H
#define WORK_RUN_DEBUGINFOD_H

#include "work/os/mutex.h"
#include <stddef.h>
#include <stdint.h>

#include "work/cache/cache.h"
#include "work/os/log.h"
#include "work/run/counters.h"
#include "work/worker/worker.h"

enum {
	FETCH_PATH_SIZE = 4096,
	FETCH_SERVERS_MAX = 32, /* bits of a set of servers */
};

/* One of the servers. It is not asked until @rest_until. */
struct fetch_server {
	char *url;          /* without a slash at its end; owned */
	int64_t rest_until; /* monotonic_ms() */
	int64_t rest_ms;    /* length of the current backoff */
	int failure;        /* its cause: a negative errno */
};

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
	size_t n_list, urls_size;      /* servers, and bytes of their addresses with one more for each */

	struct mutex lock; /* guards when each server may be asked again; not their addresses */
	struct fetch_server list[FETCH_SERVERS_MAX] GUARDED_BY(&lock);
};

/*
 * Reads the servers from $DEBUGINFOD_URLS and determines the client's cache directory:
 * $DEBUGINFOD_CACHE_PATH,
 * ~/.debuginfod_client_cache if that exists, $XDG_CACHE_HOME/debuginfod_client, ~/.cache/debuginfod_client,
 * or a directory of @cache if HOME is not set. It must belong to the daemon's user. 0 or a negative errno.
 */
int fetcher_open(struct fetcher *fetcher, const struct cache *cache, struct gsym_diag *diag);
void fetcher_close(struct fetcher *fetcher);

/* What conversions that may ask these servers are told apart by; not 0. @urls: as of $DEBUGINFOD_URLS. */
uint64_t fetch_servers_hash(const char *urls);

struct fetched {
	/*
	 * For reading, the caller's to close; or a negative errno: -ENOENT if no server has the file, -EFBIG
	 * if it is too large, -ECANCELED if the daemon shuts down, others if a server that may have it could
	 * not be reached.
	 */
	int fd;
	char path[FETCH_PATH_SIZE]; /* of the file */
	int64_t again;              /* without a file: when to request it again, in seconds since the epoch */
};

/*
 * Fetches the debug file of a build id. Blocks until the servers reply, but not longer than fetcher->seconds.
 *
 * @fetcher: with its servers
 * @id, @size: the build id, bytes, at most IMAGE_ID_MAX
 * @silence: if not 0, and $DEBUGINFOD_TIMEOUT is not set: seconds in which servers may send nothing
 * @ret: the file, or why there is none
 */
void fetcher_get(struct fetcher *fetcher, const uint8_t *id, size_t size, unsigned silence,
		 struct fetched *ret);

/* ---- Each server (debuginfod_servers.c): sets of them have bit N for fetcher.list[N] ---- */

/* Appends the addresses in @urls to the list: 0, -E2BIG, -ENOMEM. */
int fetch_servers_read(struct fetcher *fetcher, const char *urls);
void fetch_servers_free(struct fetcher *fetcher);

/* The server that rests for the shortest time. */
struct fetch_rest {
	int failure; /* 0: none rests */
	int64_t ms;  /* until it is asked again */
};

/* The servers to ask now, with their addresses as the client takes them; and those that rest. */
uint32_t fetch_servers_choose(struct fetcher *fetcher, char urls[static WORKER_PATH_MAX],
			      struct fetch_rest *ret) EXCLUDES(&fetcher->lock);

/*
 * Some servers replied to a request, and others failed.
 *
 * @asked:   all of them
 * @failed:  those among them that failed,
 * @failure: for which reason, a negative errno,
 * @took:    after so many milliseconds
 */
void fetch_servers_note(struct fetcher *fetcher, uint32_t asked, uint32_t failed, int failure, int64_t took)
	EXCLUDES(&fetcher->lock);

/* Servers as the client counts them, among those that were asked, as a set. Pure. */
uint32_t fetch_servers_spread(uint32_t asked, uint32_t among);

/* Whether @fd, of struct fetched, means that a server could not be reached. Pure. */
bool fetch_failed(int fd);

/* The errno for calls that need data which only a server could provide: -ETIMEDOUT or -EHOSTUNREACH. Pure. */
int fetch_errno(int err);

#endif
