#include "scanner_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fs/images/catalogue.h"
#include "fs/images/digests.h"
#include "fs/images/evicted.h"
#include "fs/images/retired.h"
#include "fs/scan/index_store.h"
#include "fs/scan/scan_look.h"
#include "fs/scan/sweep.h"
#include "fs/sys/starter.h"

enum {
	STOP_FD = 900,
	WATCH_FD = 0, /* as good as any */
	MOUNT_DEVICE = 77,
	START_MS = 5000000,
	POLLS = 5000, /* that many are a loop without end */
};

struct scanner_script with;
char did[2048], handled[2048];
struct scanner scanner;
char source[64];

static struct starter starter;
static struct images images;
static struct cache cache;
static struct metrics *const metrics = (struct metrics *)&with;
static struct log one_log;
static char paths[][8] = {"/srv/a", "/srv/b"};
static const struct scan_root roots[] = {{paths[0], "a"}, {paths[1], "b"}};

/* ---- Time, and what happens ---- */

static int64_t now_ms;
static struct scan_cost spent;
static size_t n_events; /* that have happened */
static unsigned n_polls;
static bool is_stopped;
static char unread[EVENTS]; /* changes that inotify has to tell, a letter each */

__attribute__((format(printf, 2, 3))) static void note(char *text, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list list;
	va_start(list, fmt);
	if (n)
		text[n++] = ' ';
	assert_true(vsnprintf(text + n, sizeof(did) - n, fmt, list) < (int)(sizeof(did) - n));
	va_end(list);
}

/* ms */
static int64_t since_start(void)
{
	return now_ms - START_MS;
}

static void happen(const struct scan_event *event)
{
	static const char letters[] = " ..eunva";
	if (event->what == STOP)
		is_stopped = true;
	else if (event->what == REQUEST)
		scanner_request(&scanner);
	else
		strncat(unread, &letters[event->what], 1);
}

static void catch_up(void)
{
	while (n_events < EVENTS && with.events[n_events].what && with.events[n_events].at <= since_start())
		happen(&with.events[n_events++]);
}

static void spend(const struct scan_cost *cost)
{
	spent.own += cost->own;
	spent.user += cost->user;
	spent.kernel += cost->kernel;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_getrusage(int who, struct rusage *ret);
time_t __wrap_time(time_t *ret);
int __real_eventfd(unsigned count, int flags);
int __wrap_eventfd(unsigned count, int flags);
int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __real_pthread_join(pthread_t thread, void **ret);
int __wrap_pthread_join(pthread_t thread, void **ret);
int __wrap_scan_pass(struct scan *scan);
int __wrap_scan_look(struct scan *scan, struct changes *changes);
void __wrap_scan_save_index(struct scan *scan);
dev_t __wrap_sweep_mounted_device(const struct scan *scan);
void __wrap_index_load(struct index *index, unsigned root, const struct cache *cache, const char *source);
size_t __wrap_index_count_images(const struct index *index);
void __wrap_index_deinit(struct index *index);
void __wrap_images_expect(struct images *images, size_t n);
void __wrap_images_close_evicted(struct images *images, struct cache *cache);
void __wrap_images_free_retired(struct images *images);
size_t __wrap_digests_unsaved(struct digests *digests);
void __wrap_watch_open(struct watch *watch, const struct log *log);
void __wrap_watch_close(struct watch *watch);
void __wrap_watch_read(struct watch *watch, int root, dev_t avoid, struct changes *ret);
void __wrap_watch_drain(struct watch *watch);
void __wrap_hash_lane_init(struct hash_lane *lane);
int __wrap_hash_lane_start(struct hash_lane *lane);
void __wrap_hash_lane_stop(struct hash_lane *lane);
void __wrap_hash_lane_deinit(struct hash_lane *lane);
void __wrap_digest_lane_init(struct digest_lane *lane);
int __wrap_digest_lane_start(struct digest_lane *lane);
void __wrap_digest_lane_stop(struct digest_lane *lane);
void __wrap_digest_lane_deinit(struct digest_lane *lane);
void __wrap_digest_lane_wake(const struct digest_lane *lane);
void __wrap_starter_release(struct starter *one);

static bool has_request(void)
{
	eventfd_t count;
	if (eventfd_read(scanner.wake_fd, &count))
		return false;
	eventfd_write(scanner.wake_fd, count);
	return true;
}

/* Which of the three descriptors are readable. */
static int look_at(struct pollfd *fds)
{
	fds[0].revents = is_stopped ? POLLIN : 0;
	fds[1].revents = has_request() ? POLLIN : 0;
	fds[2].revents = fds[2].fd >= 0 && *unread ? POLLIN : 0;
	return !!fds[0].revents + !!fds[1].revents + !!fds[2].revents;
}

/* Sleeps from one event to the next, until the thread is concerned or its time is over. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	const int64_t end = now_ms + timeout;
	assert_true(n == 3 && timeout >= 0 && ++n_polls < POLLS);
	assert_true(fds[0].fd == STOP_FD && fds[1].fd == scanner.wake_fd);
	assert_true(fds[2].fd == -1 || fds[2].fd == WATCH_FD);
	assert_int_equal(fds[0].events & fds[1].events & fds[2].events, POLLIN);
	for (;;) {
		int ready = look_at(fds);
		if (n_polls <= with.interrupts) {
			fds[0].revents = fds[1].revents = fds[2].revents = POLLIN; /* says nothing */
			errno = EINTR;
			return -1;
		}
		const struct scan_event *next = &with.events[n_events];
		if (ready || now_ms == end)
			return ready;
		now_ms = n_events < EVENTS && next->what && START_MS + next->at < end ? START_MS + next->at
										      : end;
		if (now_ms < end)
			catch_up(); /* what comes at the end is seen later */
	}
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int64_t us = spent.own;
	if (clock == CLOCK_MONOTONIC) {
		catch_up();
		us = now_ms * 1000;
	} else {
		assert_int_equal(clock, CLOCK_THREAD_CPUTIME_ID);
	}
	*ret = (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
	return 0;
}

static struct timeval timeval_of(int64_t us)
{
	return (struct timeval){.tv_sec = us / 1000000, .tv_usec = us % 1000000};
}

int __wrap_getrusage(int who, struct rusage *ret)
{
	assert_int_equal(who, RUSAGE_CHILDREN);
	ret->ru_utime = timeval_of(spent.user);
	ret->ru_stime = timeval_of(spent.kernel);
	return 0;
}

time_t __wrap_time(time_t *ret)
{
	(void)ret;
	return EPOCH + since_start() / 1000;
}

int __wrap_eventfd(unsigned count, int flags)
{
	errno = -with.eventfd_err;
	int ret = with.eventfd_err ? -1 : __real_eventfd(count, flags);
	if (with.no_stdin)
		close(STDIN_FILENO);
	return ret;
}

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	note(handled, "scan");
	return with.thread_err ? with.thread_err : __real_pthread_create(ret, attr, run, arg);
}

int __wrap_pthread_join(pthread_t thread, void **ret)
{
	note(handled, "join");
	return __real_pthread_join(thread, ret);
}

/* ---- What the thread does ---- */

int __wrap_scan_pass(struct scan *scan)
{
	unsigned n = scan->pass++;
	assert_ptr_equal(scan, &scanner.scan);
	note(did, "%lld:walk", (long long)since_start());
	spend(n ? &with.walk : &with.first_walk);
	scan->again = !n && with.again ? EPOCH + with.again : 0;
	scan->unsaved = with.unsaved;
	return n < WALKS ? with.walk_errs[n] : 0;
}

/* Shows the paths. */
int __wrap_scan_look(struct scan *scan, struct changes *changes)
{
	assert_ptr_equal(changes, &scan->changes);
	assert_false(changes->all);
	note(did, "%lld:look%s", (long long)since_start(), changes->neighbours ? "+" : "");
	for (size_t i = 0; i < changes->paths.n; i++)
		strcat(did, changes->paths.v[i]);
	spend(&with.look);
	return with.look_err;
}

void __wrap_scan_save_index(struct scan *scan)
{
	assert_ptr_equal(scan, &scanner.scan);
	note(did, "save");
}

dev_t __wrap_sweep_mounted_device(const struct scan *scan)
{
	assert_ptr_equal(scan, &scanner.scan);
	return MOUNT_DEVICE;
}

void __wrap_index_load(struct index *index, unsigned root, const struct cache *from, const char *path)
{
	assert_ptr_equal(index, &scanner.scan.index);
	assert_ptr_equal(index->digests, &images.digests);
	assert_ptr_equal(from, &cache);
	note(did, "load(%u,%s)", root, path);
}

size_t __wrap_index_count_images(const struct index *index)
{
	assert_ptr_equal(index, &scanner.scan.index);
	return 4711;
}

void __wrap_index_deinit(struct index *index)
{
	assert_ptr_equal(index, &scanner.scan.index);
	note(handled, "index");
}

void __wrap_images_expect(struct images *in, size_t n)
{
	assert_ptr_equal(in, &images);
	note(did, "expect(%zu)", n);
}

void __wrap_images_close_evicted(struct images *in, struct cache *of)
{
	assert_true(in == &images && of == &cache);
	note(did, "%lld:evict", (long long)since_start());
}

void __wrap_images_free_retired(struct images *in)
{
	assert_ptr_equal(in, &images);
	note(did, "free");
}

size_t __wrap_digests_unsaved(struct digests *digests)
{
	assert_ptr_equal(digests, &images.digests);
	return with.undigested;
}

void __wrap_watch_open(struct watch *watch, const struct log *log)
{
	assert_ptr_equal(log, &one_log);
	watch->fd = with.no_watch ? -1 : WATCH_FD;
	note(did, "watch");
}

void __wrap_watch_close(struct watch *watch)
{
	assert_ptr_equal(watch, &scanner.scan.watch);
	note(handled, "watch");
}

/* SOURCE is only for looking at its entries. */
static void expect_source(int root)
{
	struct stat st, want;
	if (stat(source, &want)) {
		assert_int_equal(root, -1);
		return;
	}
	assert_int_equal(fstat(root, &st), 0);
	assert_int_equal(st.st_ino, want.st_ino);
	assert_true(fcntl(root, F_GETFL) & O_PATH);
	assert_true(fcntl(root, F_GETFL) & O_DIRECTORY);
	assert_true(fcntl(root, F_GETFD) & FD_CLOEXEC);
}

void __wrap_watch_read(struct watch *watch, int root, dev_t avoid, struct changes *ret)
{
	assert_ptr_equal(watch, &scanner.scan.watch);
	assert_int_equal(avoid, MOUNT_DEVICE);
	expect_source(root);
	for (const char *letter = unread; *letter; letter++) {
		char name[] = {(char)('a' + ret->paths.n), 0};
		if (*letter == 'e')
			changes_add(ret, "", name);
		ret->all |= *letter == 'a';
		ret->neighbours |= *letter == 'n';
		ret->evicted |= *letter == 'v';
	}
	*unread = 0;
}

void __wrap_watch_drain(struct watch *watch)
{
	assert_true(watch->fd >= 0);
	catch_up();
	*unread = 0;
}

void __wrap_hash_lane_init(struct hash_lane *lane)
{
	assert_ptr_equal(lane, &scanner.scan.hashes);
	note(handled, "init-hash");
}

int __wrap_hash_lane_start(struct hash_lane *lane)
{
	assert_ptr_equal(lane, &scanner.scan.hashes);
	assert_string_equal(lane->source, source);
	assert_string_equal(lane->worker, "gsym");
	assert_int_equal(lane->stop_fd, STOP_FD);
	assert_int_equal(lane->wake_fd, scanner.wake_fd);
	note(handled, "hash");
	return with.hash_err;
}

void __wrap_hash_lane_stop(struct hash_lane *lane)
{
	assert_ptr_equal(lane, &scanner.scan.hashes);
	note(handled, "stop-hash");
}

void __wrap_hash_lane_deinit(struct hash_lane *lane)
{
	assert_ptr_equal(lane, &scanner.scan.hashes);
	note(handled, "hash");
}

void __wrap_digest_lane_init(struct digest_lane *lane)
{
	assert_ptr_equal(lane, &scanner.scan.digesting);
	note(handled, "init-digest");
}

int __wrap_digest_lane_start(struct digest_lane *lane)
{
	assert_ptr_equal(lane, &scanner.scan.digesting);
	assert_ptr_equal(lane->images, &images);
	assert_ptr_equal(lane->metrics, metrics);
	assert_ptr_equal(lane->log, &one_log);
	assert_string_equal(lane->source, source);
	assert_int_equal(lane->stop_fd, STOP_FD);
	note(handled, "digest");
	return with.digest_err;
}

void __wrap_digest_lane_stop(struct digest_lane *lane)
{
	assert_ptr_equal(lane, &scanner.scan.digesting);
	note(handled, "stop-digest");
}

void __wrap_digest_lane_deinit(struct digest_lane *lane)
{
	assert_ptr_equal(lane, &scanner.scan.digesting);
	note(handled, "digest");
}

void __wrap_digest_lane_wake(const struct digest_lane *lane)
{
	assert_ptr_equal(lane, &scanner.scan.digesting);
	note(did, "digest");
}

void __wrap_starter_release(struct starter *one)
{
	assert_ptr_equal(one, &starter);
	note(did, "release");
}

/* ---- A scanner ---- */

size_t count_descriptors(void)
{
	size_t n = 0;
	for (int fd = 0; fd < 200; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

void scanner_reset(void)
{
	memset(&with, 0, sizeof(with));
	memset(&scanner, 0, sizeof(scanner));
	now_ms = START_MS;
	spent = (struct scan_cost){4000000, 2999999, 1999999};
	n_events = n_polls = 0;
	is_stopped = false;
	*did = *handled = *unread = 0;
}

void scanner_prepare(void)
{
	scanner_init(&scanner);
	assert_int_equal(scanner.wake_fd, -1);
	assert_int_equal(scanner.scan.watch.fd, -1);
	scanner.starter = &starter;
	scanner.scan.source = source;
	scanner.scan.roots = roots;
	scanner.scan.n_roots = 2;
	scanner.scan.worker = "gsym";
	scanner.scan.images = &images;
	scanner.scan.cache = &cache;
	scanner.scan.metrics = metrics;
	scanner.scan.log = &one_log;
	scanner.scan.stop_fd = STOP_FD;
}
