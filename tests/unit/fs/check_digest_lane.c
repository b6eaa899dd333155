/*
 * Digests in the background: which files, in which order, at which pace, and when those are tried again that
 * could not be read. The clock goes on only while the thread rests.
 */
#include "images_fixture.h"

#include "fs/scan/digest_lane.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "work/os/log.h"
#include "store/client/file_digest.h"
#include "fs/images/digests.h"
#include "fs/images/image_find.h"
#include "fs/images/revision.h"
#include "fs/sys/metrics.h"
#include "gsym/base/vec.h"

enum { MIB = 1 << 20, START = 1000 /* seconds */, READ = 64 };

static const int64_t second = 1000000000;

static struct digested_files {
	struct images_fixture *f;
	struct metrics metrics;
	struct log log;
	struct digest_lane lane;
	char dir[32];
	ino_t inos[8]; /* of the files a, b, c... */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	int64_t now;     /* ns */
	int64_t rested;  /* ns, since the last file */
	unsigned waits;  /* for files; how often it began */
	int timeout;     /* of the last one, ms */
	char read[READ]; /* the files that were read, by their letters */
	int outcome;     /* of reading them: 0 or a negative errno */
	int64_t unsettled;
	bool grows;    /* the file changes while it is read */
	bool stops;    /* the daemon ends meanwhile */
	unsigned busy; /* rests until no image is converted any more */
} t;

/* ---- In place of the clock, and of libsodium ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int64_t __wrap_file_key_unsettled(const struct file_key *key);
int __wrap_file_digest(int fd, uint64_t size, bool (*more)(void *user), void *user,
		       uint8_t ret[static STORE_DIGEST]);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	pthread_mutex_lock(&t.lock);
	int64_t now = clock == CLOCK_THREAD_CPUTIME_ID ? 0 : t.now;
	pthread_mutex_unlock(&t.lock);
	*ret = (struct timespec){now / second, now % second};
	return 0;
}

int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	(void)mask;
	assert_int_equal(n, 1);
	int64_t rest = timeout->tv_sec * second + timeout->tv_nsec;
	pthread_mutex_lock(&t.lock);
	t.now += rest;
	t.rested += rest;
	if (t.busy && --t.busy == 0)
		atomic_store(&t.f->images.converting, 0);
	pthread_mutex_unlock(&t.lock);
	return __real_poll(fds, n, 0);
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	pthread_mutex_lock(&t.lock);
	t.waits++;
	t.timeout = timeout;
	pthread_cond_broadcast(&t.changed);
	pthread_mutex_unlock(&t.lock);
	return __real_poll(fds, n, -1);
}

int64_t __wrap_file_key_unsettled(const struct file_key *key)
{
	(void)key;
	return t.unsettled;
}

static char letter_of(int fd)
{
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	for (size_t i = 0; i < ARRAY_SIZE(t.inos); i++)
		if (st.st_ino == t.inos[i])
			return (char)('a' + i);
	return '?';
}

static void grow(char letter, uint64_t size)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/%c", t.dir, letter);
	assert_int_equal(truncate(path, (off_t)size + 1), 0);
}

int __wrap_file_digest(int fd, uint64_t size, bool (*more)(void *user), void *user,
		       uint8_t ret[static STORE_DIGEST])
{
	char letter = letter_of(fd);
	size_t n = strlen(t.read);
	assert_true(n + 1 < READ);
	t.read[n] = letter;
	t.rested = 0;
	for (uint64_t at = 0; at < size; at += MIB) {
		if (!more(user))
			return -ECANCELED;
		if (t.stops)
			eventfd_write(t.lane.stop_fd, 1);
		if (t.grows)
			grow(letter, size);
	}
	memset(ret, letter, STORE_DIGEST);
	return t.outcome;
}

/* ---- Set up ---- */

static int set_up(void **state)
{
	void *fixture;
	(void)state;
	memset(&t, 0, sizeof(t));
	pthread_mutex_init(&t.lock, NULL);
	pthread_cond_init(&t.changed, NULL);
	t.now = START * second;
	images_fixture_set_up(&fixture);
	t.f = fixture;
	strcpy(t.dir, "/tmp/gsymfs-lane-XXXXXX");
	assert_non_null(mkdtemp(t.dir));
	digest_lane_init(&t.lane);
	t.lane.images = &t.f->images;
	t.lane.metrics = &t.metrics;
	t.lane.log = &t.log;
	t.lane.source = t.dir;
	t.lane.rate = MIB;
	t.lane.stop_fd = eventfd(0, EFD_CLOEXEC);
	return 0;
}

static int tear_down(void **state)
{
	void *fixture = t.f;
	char command[64];
	(void)state;
	eventfd_write(t.lane.stop_fd, 1);
	digest_lane_stop(&t.lane);
	assert_false(t.lane.running);
	int wake_fd = t.lane.wake_fd;
	digest_lane_deinit(&t.lane);
	assert_true(wake_fd < 0 || fcntl(wake_fd, F_GETFD) < 0);
	close(t.lane.stop_fd);
	images_fixture_tear_down(&fixture);
	pthread_cond_destroy(&t.changed);
	pthread_mutex_destroy(&t.lock);
	snprintf(command, sizeof(command), "rm -r '%s'", t.dir);
	return system(command);
}

/* The file @name, a letter and more, of @size bytes, that has an image of its own. */
static struct source make_file(const char *name, uint64_t size, enum richness richness)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "%s/%s", t.dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	const struct file_key key = file_key_of(&st);
	t.inos[*name - 'a'] = st.st_ino;
	return WITH(source_file(name, richness), w.dev = key.dev; w.ino = key.ino; w.size = key.size;
		    w.mtime_ns = key.mtime_ns; w.ctime_ns = key.ctime_ns);
}

static const char *id_of(char letter)
{
	static char id[17];
	snprintf(id, sizeof(id), "%016x", (unsigned)letter);
	return id;
}

static void add_file(const char *name, uint64_t size, enum richness richness)
{
	put_as(t.f, id_of(*name), make_file(name, size, richness));
}

/* ---- Rounds ---- */

static void start(void)
{
	assert_int_equal(digest_lane_start(&t.lane), 0);
	assert_true(t.lane.running);
}

static void wait_until_it_waits(unsigned n)
{
	pthread_mutex_lock(&t.lock);
	while (t.waits < n)
		pthread_cond_wait(&t.changed, &t.lock);
	pthread_mutex_unlock(&t.lock);
}

/* A scan has ended: the thread reads these files, and then waits for so many milliseconds, -1: for a scan. */
static void reads(const char *files, int timeout)
{
	wait_until_it_waits(1);
	pthread_mutex_lock(&t.lock);
	t.waits = 0;
	memset(t.read, 0, sizeof(t.read));
	pthread_mutex_unlock(&t.lock);
	digest_lane_wake(&t.lane);
	wait_until_it_waits(1);
	assert_string_equal(t.read, files);
	assert_int_equal(t.timeout, timeout);
}

static void go_on_by(int64_t duration)
{
	pthread_mutex_lock(&t.lock);
	t.now += duration;
	pthread_mutex_unlock(&t.lock);
}

static bool is_known(char letter)
{
	uint8_t digest[STORE_DIGEST];
	mutex_lock(&t.f->images.lock);
	const struct image *image = images_find(&t.f->images, id_of(letter));
	const struct file_key key = source_key(&image->sources.v[0]);
	mutex_unlock(&t.f->images.lock);
	if (!digests_find(&t.f->images.digests, &key, digest))
		return false;
	assert_int_equal(digest[0], letter);
	return true;
}

static size_t pending(void)
{
	return atomic_load(&t.f->images.digests.pending);
}

/* ---- Which ---- */

TEST(by_richness)
{
	add_file("a", 10, SOURCE_SYMBOLS);
	add_file("b", 10, SOURCE_DWARF);
	add_file("c", 10, SOURCE_BARE);
	add_file("d", 10, SOURCE_DWARF);
	add_file("e", 10, SOURCE_SYMBOLS);
	assert_int_equal(pending(), DIGESTS_UNCOUNTED);
	start();
	reads("bdaec", -1);
	assert_int_equal(pending(), 0);
	assert_true(is_known('a') && is_known('b') && is_known('c') && is_known('d') && is_known('e'));
	assert_int_equal(atomic_load(&t.metrics.digests[DIGEST_MADE]), 5);
	assert_int_equal(atomic_load(&t.metrics.digest_bytes), 50);
	reads("", -1);
	add_file("f", 10, SOURCE_BARE);
	reads("f", -1);
}

/* What something was asked of comes first, with the file that completes it. */
TEST(asked_first)
{
	add_file("a", 10, SOURCE_DWARF);
	add_file("b", 10, SOURCE_SYMBOLS);
	add_file("c", 10, SOURCE_DWARF);
	put_as(t.f, id_of('c'), WITH(make_file("d", 10, SOURCE_SYMBOLS), w.has_text = true));
	add_file("e", 10, SOURCE_BARE);
	assert_non_null(revision_of(t.f, id_of('e')));
	start();
	reads("eacbd", -1);
	assert_int_equal(pending(), 0);
}

TEST(huge_files)
{
	const uint64_t most = UINT64_C(64) << 30;
	put_as(t.f, id_of('a'), WITH(make_file("a", 10, SOURCE_DWARF), w.size = most + 1));
	put_as(t.f, id_of('b'), WITH(make_file("b", 10, SOURCE_DWARF), w.size = most));
	start();
	reads("b", 10000); /* whose size is another by now */
	assert_int_equal(pending(), 1);
}

/* One that was fetched is not below the source. */
TEST(fetched_files)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/a", t.dir);
	put_as(t.f, id_of('a'), WITH(make_file("a", 10, SOURCE_DWARF), w.fetched = true; w.path = path));
	t.lane.source = "/nonexistent/gsymfs";
	start();
	reads("a", -1);
	assert_true(is_known('a'));
}

TEST(nothing_to_do)
{
	t.lane.rate = 0;
	assert_int_equal(digest_lane_start(&t.lane), 0);
	assert_false(t.lane.running);
	digest_lane_wake(&t.lane);
	assert_int_equal(t.lane.wake_fd, -1);
}

static size_t count_known(void)
{
	mutex_lock(&t.f->images.digests.lock);
	size_t n = t.f->images.digests.files.n;
	mutex_unlock(&t.f->images.digests.lock);
	return n;
}

/* What a complete scan has not seen any more is forgotten. */
TEST(gone_files)
{
	add_file("a", 10, SOURCE_DWARF);
	add_file("b", 10, SOURCE_BARE);
	start();
	reads("ab", -1);
	scanned(t.f, 0);
	reads("", -1);
	assert_int_equal(count_known(), 2);
	const struct source b = make_file("b", 20, SOURCE_BARE);
	put_as(t.f, id_of('b'), b);
	scanned(t.f, -EIO);
	reads("b", -1);
	assert_int_equal(count_known(), 2);
	put_as(t.f, id_of('b'), b);
	scanned(t.f, 0);
	for (int i = 0; i < 2; i++)
		reads("", -1);
	assert_int_equal(count_known(), 1);
	assert_true(is_known('b'));
}

/* ---- Failures ---- */

TEST(unreadable)
{
	add_file("a", 10, SOURCE_DWARF);
	add_file("b", 10, SOURCE_BARE);
	start();
	t.outcome = -EIO;
	reads("ab", 3600000 - 10000); /* each is followed by a rest */
	assert_int_equal(atomic_load(&t.metrics.digests[DIGEST_FAILED]), 2);
	assert_int_equal(pending(), 2);
	assert_false(is_known('a'));
	t.outcome = 0;
	reads("", 3600000 - 10000);
	go_on_by((3600 - 10) * second - 1000000);
	reads("", 1);
	go_on_by(1000000);
	reads("a", 10000);
	assert_true(is_known('a'));
	assert_int_equal(pending(), 1);
}

TEST(out_of_resources)
{
	add_file("a", 10, SOURCE_DWARF);
	start();
	t.outcome = -EMFILE;
	reads("a", 10000);
	t.outcome = -ENFILE;
	go_on_by(10 * second);
	reads("a", 10000);
	t.outcome = -ENOMEM;
	go_on_by(10 * second);
	reads("a", 10000);
	t.outcome = 0;
	go_on_by(10 * second);
	reads("a", -1);
	assert_true(is_known('a'));
}

TEST(changed_meanwhile)
{
	add_file("a", 10, SOURCE_DWARF);
	start();
	t.grows = true;
	reads("a", 10000);
	assert_int_equal(atomic_load(&t.metrics.digests[DIGEST_REPLACED]), 1);
	assert_int_equal(atomic_load(&t.metrics.digests[DIGEST_FAILED]), 0);
	assert_int_equal(atomic_load(&t.metrics.digest_bytes), 10);
	t.grows = false;
	go_on_by(9999 * INT64_C(1000000));
	reads("", 1);
	go_on_by(1000000);
	reads("a", 10000); /* the scan knows it as it was */
	assert_false(is_known('a'));
	assert_int_equal(atomic_load(&t.metrics.digest_bytes), 10);
	t.f->pass++;
	add_file("a", 20, SOURCE_DWARF);
	reads("a", -1);
	assert_true(is_known('a'));
}

/* A file is not what it was, or gone, is none that cannot be read. */
TEST(replaced)
{
	char path[64];
	add_file("a", 10, SOURCE_DWARF);
	snprintf(path, sizeof(path), "%s/a", t.dir);
	assert_int_equal(unlink(path), 0);
	start();
	reads("", 10000);
	assert_int_equal(atomic_load(&t.metrics.digests[DIGEST_REPLACED]), 1);
	assert_int_equal(symlink("b", path), 0);
	go_on_by(10 * second);
	reads("", 10000);
	assert_int_equal(atomic_load(&t.metrics.digests[DIGEST_REPLACED]), 2);
	t.lane.source = "/nonexistent/gsymfs";
	go_on_by(10 * second);
	reads("", 10000);
	assert_int_equal(atomic_load(&t.metrics.digests[DIGEST_REPLACED]), 3);
	assert_int_equal(atomic_load(&t.metrics.digests[DIGEST_FAILED]), 0);
}

/* Another change could leave the same times. */
TEST(too_new)
{
	add_file("a", 10, SOURCE_DWARF);
	start();
	wait_until_it_waits(1);
	t.unsettled = 2;
	reads("", 2000);
	t.unsettled = 1000000;
	go_on_by(2 * second);
	reads("", 3600000);
	t.unsettled = 0;
	go_on_by(3600 * second);
	reads("a", -1);
}

/* ---- Pace ---- */

TEST(as_fast_as_allowed)
{
	t.lane.rate = 4 * MIB;
	add_file("a", 10 * MIB + MIB / 2, SOURCE_DWARF);
	add_file("b", 1, SOURCE_BARE);
	start();
	reads("ab", -1);
	/* The first two of eleven blocks are read at once, the last one is paid for by what follows. */
	assert_int_equal(t.now - START * second, second * 19 / 8);
	assert_int_equal(t.rested, second / 8);
	assert_int_equal(atomic_load(&t.metrics.digest_bytes), 10 * MIB + MIB / 2 + 1);
}

/* While images are converted nothing is read: every tenth of a second it looks whether they are. */
TEST(after_conversions)
{
	add_file("a", 2 * MIB, SOURCE_DWARF);
	t.lane.rate = UINT64_C(1) << 60;
	t.busy = 8;
	atomic_store(&t.f->images.converting, 1);
	start();
	reads("a", -1);
	assert_in_range(t.now - START * second, second / 2, second * 8 / 10);
	assert_true(is_known('a'));
}

/* At the end of the daemon nothing more is read. */
TEST(stopped)
{
	add_file("a", 3 * MIB, SOURCE_DWARF);
	add_file("b", 3 * MIB, SOURCE_DWARF);
	t.stops = true;
	start();
	wait_until_it_waits(1);
	digest_lane_wake(&t.lane);
	digest_lane_stop(&t.lane);
	assert_string_equal(t.read, "a");
	assert_int_equal(atomic_load(&t.metrics.digest_bytes), MIB);
	assert_int_equal(atomic_load(&t.metrics.digests[DIGEST_FAILED]), 0);
	assert_false(is_known('a'));
}

EACH_TEST(set_up, tear_down)
