/* The thread that scans: when, and until when. */
#include "fs/scan/scanner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "fs/scan/index.h"
#include "work/os/monotonic.h"
#include "fs/images/catalogue.h"
#include "fs/images/image_release.h"
#include "fs/scan/scan_look.h"
#include "fs/scan/scan_pace.h"
#include "fs/scan/sweep.h"
#include "work/os/thread.h"
#include "work/worker/child.h"
#include "fs/sys/starter.h"

void scanner_init(struct scanner *scanner)
{
	scanner->wake_fd = -1;
	scanner->scan.watch.fd = -1;
	hash_lane_init(&scanner->scan.hashes);
}

void scanner_deinit(struct scanner *scanner)
{
	hash_lane_deinit(&scanner->scan.hashes);
	index_deinit(&scanner->scan.index);
	watch_close(&scanner->scan.watch);
	changes_clear(&scanner->scan.changes);
	if (scanner->wake_fd >= 0)
		close(scanner->wake_fd);
}

/* Takes the changes there are: whether it is time to look at them. */
static bool collect_changes(struct scan *scan, struct scan_pace *pace, bool any)
{
	int64_t now = monotonic_ms();
	bool due = scan_pace_look_now(pace, now, any);
	if (due || !any)
		return due;
	int root = open(scan->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	watch_read(&scan->watch, root, sweep_mounted_device(scan), &scan->changes);
	scan_pace_changed(pace, now, changes_any(&scan->changes));
	if (root >= 0)
		close(root);
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
static void look_at_changes(struct scan *scan, struct scan_pace *pace)
{
	int64_t start = spent_ms();
	bool all = scan->changes.all;
	bool some = !all && (scan->changes.neighbours || scan->changes.paths.n);
	if (scan->changes.evicted)
		images_close_evicted(scan->images, scan->cache);
	int err = some ? scan_look(scan, &scan->changes) : 0;
	images_free_retired(scan->images);
	changes_clear(&scan->changes);
	scan_pace_looked(pace, monotonic_ms(), spent_ms() - start, all || err == -EAGAIN);
}

/* Waits until another walk is due: false when it is time to stop instead. */
static bool wait_for_walk(struct scanner *scanner, struct scan_pace *pace)
{
	struct scan *scan = &scanner->scan;
	for (int64_t now; (now = monotonic_ms()) < pace->due;) {
		bool looking = now >= pace->look;
		struct pollfd fds[] = {{.fd = scan->stop_fd, .events = POLLIN},
				       {.fd = scanner->wake_fd, .events = POLLIN},
				       {.fd = looking ? scan->watch.fd : -1, .events = POLLIN}};
		int n = poll(fds, 3, scan_pace_timeout(pace, now, looking));
		if (n < 0)
			continue;
		if (fds[0].revents)
			return false;
		if (fds[1].revents) {
			eventfd_t count;
			eventfd_read(scanner->wake_fd, &count);
			scan_pace_request(pace);
		}
		if (looking && collect_changes(scan, pace, fds[2].revents))
			look_at_changes(scan, pace);
	}
	return true;
}

/* Likewise; that walk serves all requests so far, and sees all changes. */
static bool wait_for_next(struct scanner *scanner, struct scan_pace *pace)
{
	struct watch *watch = &scanner->scan.watch;
	eventfd_t count;
	if (!wait_for_walk(scanner, pace))
		return false;
	eventfd_read(scanner->wake_fd, &count);
	if (watch->fd >= 0)
		watch_drain(watch);
	changes_clear(&scanner->scan.changes);
	return true;
}

/* Notices early that no worker can be started any more, as on a host without free processes, or again. */
static void try_worker(const struct scan *scan)
{
	const int before = child_start_error();
	struct gsym_diag why = {""};
	int err = child_try(scan->worker, scan->stop_fd, &why);
	if (err && err != -ECANCELED && !before)
		log_error(scan->log, "%s", why.text);
	else if (!err && before)
		log_info(scan->log, "workers can be started again");
}

static void *scan_forever(void *arg)
{
	struct scanner *scanner = arg;
	struct scan *scan = &scanner->scan;
	struct scan_pace pace = {0};
	for (unsigned i = 0; i < scan->n_roots; i++)
		index_load(&scan->index, i, scan->cache, scan->roots[i].path);
	scan->had_images = index_count_images(&scan->index) != 0;
	images_expect(scan->images, index_count_images(&scan->index));
	if (scanner->watching)
		watch_open(&scan->watch, scan->log);
	do {
		int64_t start = spent_ms();
		int err = scan_pass(scan);
		images_free_retired(scan->images);
		starter_release(scanner->starter);
		try_worker(scan);
		const struct scan_walk walk = {
			.err = err,
			/* The first one may have had to look at every file, and says nothing of the next. */
			.took = scan->pass > 1 ? spent_ms() - start : 0,
			.interval = scanner->interval,
			.limit = scan->again ? scan->again - time(NULL) : INT64_MAX,
			.watching = scan->watch.fd >= 0,
		};
		scan_pace_walked(&pace, monotonic_ms(), &walk);
	} while (wait_for_next(scanner, &pace));
	if (scan->unsaved)
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
	int err = hash_lane_start(hashes);
	if (!err)
		err = thread_start(&scanner->thread, "scan", scan_forever, scanner);
	scanner->running = !err;
	return err;
}

void scanner_stop(struct scanner *scanner)
{
	hash_lane_stop(&scanner->scan.hashes);
	if (!scanner->running)
		return;
	pthread_join(scanner->thread, NULL);
	scanner->running = false;
}

void scanner_request(struct scanner *scanner)
{
	eventfd_write(scanner->wake_fd, 1);
}
