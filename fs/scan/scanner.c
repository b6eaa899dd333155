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

#include "work/os/monotonic.h"
#include "fs/images/catalogue.h"
#include "fs/images/evicted.h"
#include "fs/images/retired.h"
#include "fs/scan/index_store.h"
#include "fs/scan/scan_look.h"
#include "fs/scan/sweep.h"
#include "work/os/thread.h"
#include "fs/sys/starter.h"

enum {
	REQUEST_MS = 1000, /* between the end of a walk and one that was asked for */
	RETRY_SECONDS_MAX = 64,
	/* Debouncing: a scan waits until there was no change for so long, */
	QUIET_MS = 100,
	/* but at most so long after the first change; */
	DEBOUNCE_MS_MAX = 1000,
	/*
	 * and for so many times the CPU time of the last scan of its kind, so that constant changes cost at
	 * most a tenth of a processor for walks, and another for looks at what has changed.
	 */
	REST_FACTOR = 9,
};

void scanner_init(struct scanner *scanner)
{
	scanner->wake_fd = -1;
	scanner->scan.watch.fd = -1;
	hash_lane_init(&scanner->scan.hashes);
	digest_lane_init(&scanner->scan.digesting);
}

void scanner_deinit(struct scanner *scanner)
{
	hash_lane_deinit(&scanner->scan.hashes);
	digest_lane_deinit(&scanner->scan.digesting);
	index_deinit(&scanner->scan.index);
	watch_close(&scanner->scan.watch);
	changes_clear(&scanner->scan.changes);
	if (scanner->wake_fd >= 0)
		close(scanner->wake_fd);
}

/* When the next walk is due; all in milliseconds of monotonic_ms(). */
struct waiting {
	int64_t ended; /* the last walk */
	int64_t rest;  /* no walk before it because of changes */
	int64_t due;   /* a walk, whatever happens */
	int64_t look;  /* for changes, not before it */
	int64_t first; /* change that was seen, or 0 */
};

/* Takes the changes there are: whether it is time to look at them. */
static bool collect_changes(struct scan *scan, struct waiting *w, bool any)
{
	int64_t now = monotonic_ms();
	if (w->first && (!any || now >= w->first + DEBOUNCE_MS_MAX))
		return true;
	if (!any)
		return false;
	int root = open(scan->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	watch_read(&scan->watch, root, sweep_mounted_device(scan), &scan->changes);
	if (!w->first && changes_any(&scan->changes))
		w->first = now;
	if (root >= 0)
		close(root);
	w->look = now + QUIET_MS;
	return false;
}

/* CPU time in milliseconds of this thread and of all workers that have exited, including conversions. */
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

/* Looks at what has changed, or has a walk do it. */
static void look_at_changes(struct scan *scan, struct waiting *w)
{
	int64_t start = spent_ms();
	bool all = scan->changes.all;
	bool some = !all && (scan->changes.neighbours || scan->changes.paths.n);
	if (scan->changes.evicted)
		images_close_evicted(scan->images, scan->cache);
	int err = some ? scan_look(scan, &scan->changes) : 0;
	images_free_retired(scan->images);
	if (some)
		digest_lane_wake(&scan->digesting);
	int64_t now = monotonic_ms();
	changes_clear(&scan->changes);
	w->first = 0;
	w->look = now + (spent_ms() - start) * REST_FACTOR;
	if ((all || err == -EAGAIN) && w->due > w->rest)
		w->due = w->rest;
}

/* How long to sleep at most. */
static int timeout_of(const struct waiting *w, int64_t now, bool looking)
{
	int64_t until = looking && w->first ? now : !looking && w->look < w->due ? w->look : w->due;
	return until - now > INT_MAX ? INT_MAX : (int)(until - now);
}

/* Waits until another walk is due: false when it is time to stop instead. */
static bool wait_for(struct scanner *scanner, struct waiting *w)
{
	struct scan *scan = &scanner->scan;
	for (int64_t now; (now = monotonic_ms()) < w->due;) {
		bool looking = now >= w->look;
		struct pollfd fds[] = {{.fd = scan->stop_fd, .events = POLLIN},
				       {.fd = scanner->wake_fd, .events = POLLIN},
				       {.fd = looking ? scan->watch.fd : -1, .events = POLLIN}};
		int n = poll(fds, 3, timeout_of(w, now, looking));
		if (n < 0)
			continue;
		if (fds[0].revents)
			return false;
		if (fds[1].revents) {
			eventfd_t count;
			eventfd_read(scanner->wake_fd, &count);
			if (w->due > w->ended + REQUEST_MS)
				w->due = w->ended + REQUEST_MS;
		}
		if (looking && collect_changes(scan, w, fds[2].revents))
			look_at_changes(scan, w);
	}
	return true;
}

/* Waits for the next walk. @seconds: until one is due in any case, 0 = none is; @took: milliseconds of the
 * last one. */
static bool wait_for_next(struct scanner *scanner, unsigned seconds, int64_t took)
{
	struct watch *watch = &scanner->scan.watch;
	eventfd_t count;
	int64_t now = monotonic_ms();
	struct waiting w = {
		.ended = now,
		.due = seconds ? now + seconds * 1000LL : INT64_MAX,
		.rest = now + took * REST_FACTOR,
		.look = watch->fd < 0 ? INT64_MAX : now,
	};
	if (!wait_for(scanner, &w))
		return false;
	eventfd_read(scanner->wake_fd, &count); /* the scan serves all requests so far */
	if (watch->fd >= 0)
		watch_drain(watch); /* and sees all changes so far */
	changes_clear(&scanner->scan.changes);
	return true;
}

/* After walks that left something unknown the next one comes soon, then ever later. */
static unsigned retry_delay(unsigned *retry)
{
	unsigned seconds = *retry;
	if (*retry < RETRY_SECONDS_MAX)
		*retry *= 2;
	return seconds;
}

static unsigned sooner(unsigned a, unsigned b)
{
	return a && (!b || a < b) ? a : b;
}

/* Until a file is due that the last walk left out; 0: there is none. */
static unsigned delay_of_limit(const struct scan *scan)
{
	int64_t left = scan->again - time(NULL);
	return !scan->again ? 0 : left < 1 ? 1 : left > INT_MAX ? INT_MAX : (unsigned)left;
}

static void *scan_forever(void *arg)
{
	struct scanner *scanner = arg;
	struct scan *scan = &scanner->scan;
	unsigned retry = 1, delay;
	int64_t start, took = 0;
	scan->index.digests = &scan->images->digests;
	for (unsigned i = 0; i < scan->n_roots; i++)
		index_load(&scan->index, i, scan->cache, scan->roots[i].path);
	images_expect(scan->images, index_count_images(&scan->index));
	if (scanner->watching)
		watch_open(&scan->watch, scan->log);
	do {
		start = spent_ms();
		int err = scan_pass(scan);
		images_free_retired(scan->images);
		digest_lane_wake(&scan->digesting);
		starter_release(scanner->starter);
		/* The first one, which may have had to look at every file, says nothing of the next. */
		took = scan->pass > 1 ? spent_ms() - start : 0;
		retry = err ? retry : 1;
		delay = sooner(scanner->interval, delay_of_limit(scan));
		delay = err ? sooner(delay, retry_delay(&retry)) : delay;
	} while (wait_for_next(scanner, delay, took));
	if (scan->unsaved || digests_unsaved(&scan->images->digests))
		scan_save_index(scan);
	return NULL;
}

int scanner_start(struct scanner *scanner)
{
	scanner->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (scanner->wake_fd < 0)
		return -errno;
	struct hash_lane *hashes = &scanner->scan.hashes;
	hashes->source = scanner->scan.source;
	hashes->worker = scanner->scan.worker;
	hashes->stop_fd = scanner->scan.stop_fd;
	hashes->wake_fd = scanner->wake_fd;
	struct digest_lane *digesting = &scanner->scan.digesting;
	digesting->images = scanner->scan.images;
	digesting->metrics = scanner->scan.metrics;
	digesting->log = scanner->scan.log;
	digesting->source = scanner->scan.source;
	digesting->stop_fd = scanner->scan.stop_fd;
	int err = hash_lane_start(hashes);
	if (!err)
		err = digest_lane_start(digesting);
	if (!err)
		err = thread_start(&scanner->thread, "scan", scan_forever, scanner);
	scanner->running = !err;
	return err;
}

void scanner_stop(struct scanner *scanner)
{
	hash_lane_stop(&scanner->scan.hashes);
	digest_lane_stop(&scanner->scan.digesting);
	if (!scanner->running)
		return;
	pthread_join(scanner->thread, NULL);
	scanner->running = false;
}

void scanner_request(struct scanner *scanner)
{
	eventfd_write(scanner->wake_fd, 1);
}
