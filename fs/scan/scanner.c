/* The thread that scans: when, and until when. */
#include "fs/scan/scanner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "convert/os/beneath.h"
#include "convert/run/child.h"
#include "fs/scan/index_store.h"
#include "fs/scan/scan_pass.h"
#include "convert/os/thread.h"

enum {
	REQUEST_MS = 1000, /* between the end of a walk and one that was asked for */
	RETRY_SECONDS_MAX = 64,
	/* Changes come in showers: a walk waits until none came for so long, */
	QUIET_MS = 100,
	/* but not longer than this behind the first of them; */
	PATIENCE_MS = 1000,
	/*
	 * and for so many times the processor time of the last walk. So who changes files all the time makes
	 * us work for a tenth of the time.
	 */
	REST_FACTOR = 9,
};

void scan_init(struct scan *scan)
{
	scan->wake_fd = -1;
	scan->watch.fd = -1;
}

void scan_deinit(struct scan *scan)
{
	index_deinit(&scan->index);
	watch_close(&scan->watch);
	if (scan->wake_fd >= 0)
		close(scan->wake_fd);
}

/* When the next walk is due; all in milliseconds of monotonic_ms(). */
struct waiting {
	int64_t ended; /* the last walk */
	int64_t due;   /* whatever happens */
	int64_t look;  /* for changes, not before it */
	int64_t first; /* change that was seen, or 0 */
};

/* Takes the changes there are: whether it is time to walk. */
static bool look_for_changes(struct scan *scan, struct waiting *w, bool any)
{
	int64_t now = monotonic_ms();
	if (w->first && (!any || now >= w->first + PATIENCE_MS))
		return true;
	if (!any)
		return false;
	if (w->first) {
		watch_drain(&scan->watch);
	} else {
		int root = open(scan->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (watch_read(&scan->watch, root, entry_device(AT_FDCWD, scan->mountpoint)))
			w->first = now;
		if (root >= 0)
			close(root);
	}
	w->look = now + QUIET_MS;
	return false;
}

/* How long to sleep at most. */
static int timeout_of(const struct waiting *w, int64_t now, bool looking)
{
	int64_t until = looking && w->first ? now : !looking && w->look < w->due ? w->look : w->due;
	return until - now > INT_MAX ? INT_MAX : (int)(until - now);
}

/* Waits until another walk is due: false when it is time to stop instead. */
static bool wait_for(struct scan *scan, struct waiting *w)
{
	for (int64_t now; (now = monotonic_ms()) < w->due;) {
		bool looking = now >= w->look;
		struct pollfd fds[] = {{.fd = scan->stop_fd, .events = POLLIN},
				       {.fd = scan->wake_fd, .events = POLLIN},
				       {.fd = looking ? scan->watch.fd : -1, .events = POLLIN}};
		int n = poll(fds, 3, timeout_of(w, now, looking));
		if (n < 0)
			continue;
		if (fds[0].revents)
			return false;
		if (fds[1].revents) {
			eventfd_t count;
			eventfd_read(scan->wake_fd, &count);
			if (w->due > w->ended + REQUEST_MS)
				w->due = w->ended + REQUEST_MS;
		}
		if (looking && look_for_changes(scan, w, fds[2].revents))
			return true;
	}
	return true;
}

/* Waits for the next walk. @seconds: until one is due in any case, 0 = none is; @took: milliseconds of the
 * last one. */
static bool wait_for_next(struct scan *scan, unsigned seconds, int64_t took)
{
	eventfd_t count;
	int64_t now = monotonic_ms();
	struct waiting w = {
		.ended = now,
		.due = seconds ? now + seconds * 1000LL : INT64_MAX,
		.look = scan->watch.fd < 0 ? INT64_MAX : now + took * REST_FACTOR,
	};
	if (!wait_for(scan, &w))
		return false;
	eventfd_read(scan->wake_fd, &count); /* who asked until now gets this one */
	if (scan->watch.fd >= 0)
		watch_drain(&scan->watch); /* and what has changed until now it sees */
	return true;
}

/* How long to wait for the next walk as long as none was complete: ever longer. */
static unsigned delay_of(const struct scan *scan, unsigned *retry)
{
	unsigned seconds = *retry;
	if (*retry < RETRY_SECONDS_MAX)
		*retry *= 2;
	return scan->interval && scan->interval < seconds ? scan->interval : seconds;
}

/*
 * Milliseconds of processor time that this thread, and workers that have ended, have taken. Conversions are
 * among them: who has these, too, waits the longer.
 */
static int64_t spent_ms(void)
{
	struct timespec own;
	struct rusage workers;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
	getrusage(RUSAGE_CHILDREN, &workers);
	int64_t seconds = own.tv_sec + workers.ru_utime.tv_sec + workers.ru_stime.tv_sec;
	return seconds * 1000 + own.tv_nsec / 1000000 +
	       (workers.ru_utime.tv_usec + workers.ru_stime.tv_usec) / 1000;
}

static void *scan_forever(void *arg)
{
	struct scan *scan = arg;
	unsigned retry = 1, delay;
	bool complete = false;
	int64_t start, took = 0;
	index_load(&scan->index, scan->cache, scan->source);
	if (scan->watching)
		watch_open(&scan->watch, scan->log);
	do {
		start = spent_ms();
		complete |= scan_pass(scan) == 0;
		starter_release(scan->starter);
		/* The first one, which may have had to look at every file, says nothing of the next. */
		took = scan->pass > 1 ? spent_ms() - start : 0;
		delay = complete ? scan->interval : delay_of(scan, &retry);
	} while (wait_for_next(scan, delay, took));
	return NULL;
}

int scan_start(struct scan *scan)
{
	scan->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (scan->wake_fd < 0)
		return -errno;
	int err = thread_start(&scan->thread, "scan", scan_forever, scan);
	scan->running = !err;
	return err;
}

void scan_stop(struct scan *scan)
{
	if (!scan->running)
		return;
	pthread_join(scan->thread, NULL);
	scan->running = false;
}

void scan_request(struct scan *scan)
{
	eventfd_write(scan->wake_fd, 1);
}
