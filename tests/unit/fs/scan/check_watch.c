/*
 * Changes that inotify reports: which paths they name, which directories are watched, and that nothing on the
 * file system of the mount is touched.
 */
#include "fs/scan/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/lib/unit.h"

enum {
	MOUNT_DEVICE = 0x7777, /* of what is named "mounted" */
	LOOKS = 64,            /* new files that are looked at, of one batch of events */
};

static struct {
	char top[64];
	int root;
	struct watch watch;
	struct changes changes;
	struct log log;
} at;

/* ---- In place of a mount ---- */

static const char *mounted; /* the name of an entry on the file system of the mount */

int __real_statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret);

int __wrap_statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret)
{
	if (!mounted || strcmp(path, mounted) != 0)
		return __real_statx(dir, path, flags, mask, ret);
	ret->stx_dev_major = major(MOUNT_DEVICE);
	ret->stx_dev_minor = minor(MOUNT_DEVICE);
	return 0;
}

/* ---- A directory ---- */

static __attribute__((format(printf, 1, 2))) void command(const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert_int_equal(system(text), 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(&at, 0, sizeof(at));
	mounted = NULL;
	strcpy(at.top, "/tmp/check_watch.XXXXXX");
	assert_non_null(mkdtemp(at.top));
	at.root = open(at.top, O_RDONLY | O_DIRECTORY);
	assert_true(at.root >= 0);
	watch_open(&at.watch, &at.log);
	return at.watch.fd < 0; /* no inotify here */
}

static int tear_down(void **state)
{
	(void)state;
	changes_clear(&at.changes);
	watch_close(&at.watch);
	assert_int_equal(at.watch.fd, -1);
	assert_int_equal(at.watch.dirs.n, 0);
	close(at.root);
	command("rm -rf %s", at.top);
	return 0;
}

/* Watches the directory @path below the top, as @pass visits it. */
static void visit(const char *path, uint32_t pass)
{
	int dir = openat(at.root, *path ? path : ".", O_RDONLY | O_DIRECTORY);
	assert_true(dir >= 0);
	watch_dir(&at.watch, dir, path, !*path, pass);
	close(dir);
}

/* The events since the last call: paths, separated by blanks, and the names of flags. */
static void expect(const char *expected)
{
	char text[4096] = "";
	changes_clear(&at.changes);
	watch_read(&at.watch, at.root, MOUNT_DEVICE, &at.changes);
	changes_sort(&at.changes);
	for (size_t i = 0; i < at.changes.paths.n; i++)
		strcat(strcat(text, *text ? " " : ""), at.changes.paths.v[i]);
	for (size_t i = 0; i < at.changes.moved.n; i++)
		strcat(strcat(text, " moved:"), at.changes.moved.v[i]);
	strcat(text, at.changes.all ? " ALL" : "");
	strcat(text, at.changes.neighbours ? " NEIGHBOURS" : "");
	strcat(text, at.changes.evicted ? " EVICTED" : "");
	assert_string_equal(text, expected);
	assert_int_equal(changes_any(&at.changes), *expected != 0);
}

/* ---- Entries ---- */

TEST(files)
{
	visit("", 1);
	expect("");
	command("cd %s && echo x > new && ln new link && ln -s new symlink", at.top);
	expect("link new symlink");
	command("cd %s && mv new moved && chmod 600 moved && rm link", at.top);
	expect("link moved new");
	command("cd %s && cat moved > /dev/null", at.top); /* that is no change */
	expect("");
	command("cd %s && mkdir d", at.top);
	expect("d");
	command("cd %s && chmod 700 d", at.top); /* who may reach what is below it */
	expect(" ALL");
	command("cd %s && echo x > d/unseen", at.top); /* no walk was there yet */
	expect("");
	visit("d", 1);
	command("cd %s && echo x > d/seen", at.top);
	expect("d/seen");
}

/* What is still being written is looked at when it is closed. */
TEST(begun)
{
	visit("", 1);
	int fd = openat(at.root, "slow", O_WRONLY | O_CREAT, 0644);
	expect("");
	assert_int_equal(write(fd, "x", 1), 1);
	expect("");
	close(fd);
	expect("slow");
	/* Other attributes than the content's: it was not just made. */
	fd = openat(at.root, "kept", O_WRONLY | O_CREAT, 0644);
	assert_int_equal(futimens(fd, (const struct timespec[]){{0, 0}, {0, 0}}), 0);
	expect("kept");
	close(fd);
	expect("kept");
	/* On the mount it is not looked at. */
	mounted = "strange";
	fd = openat(at.root, "strange", O_WRONLY | O_CREAT, 0644);
	expect("strange");
	close(fd);
}

/* Of very many new files at once all count as complete: they are looked at anyway. */
TEST(begun_at_once)
{
	int fds[LOOKS + 1];
	char name[16];
	visit("", 1);
	for (int i = 0; i <= LOOKS; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		fds[i] = openat(at.root, name, O_WRONLY | O_CREAT, 0644);
		assert_true(fds[i] >= 0);
	}
	expect("f064");
	for (int i = 0; i <= LOOKS; i++)
		close(fds[i]);
}

TEST(directories)
{
	command("cd %s && mkdir -p a/b c", at.top);
	visit("", 1);
	visit("a", 1);
	visit("a/b", 1);
	visit("c", 1);
	assert_int_equal(at.watch.dirs.n, 4);
	command("cd %s && mv a c/a", at.top);
	expect("a c/a moved:a");
	/* The walk that follows meets one of them again. */
	visit("c/a", 2);
	watch_forget_below(&at.watch, "a", 2);
	assert_int_equal(at.watch.dirs.n, 3);
	command("cd %s && echo x > c/a/b/unseen && echo x > c/a/seen", at.top);
	expect("c/a/seen");
	visit("", 3);
	visit("c", 3);
	watch_sweep(&at.watch, 3);
	assert_int_equal(at.watch.dirs.n, 2);
	command("cd %s && echo x > c/a/unseen && rm -r c/a", at.top);
	expect("c/a");
	command("cd %s && rmdir c", at.top);
	expect("c");
	assert_int_equal(at.watch.dirs.n, 1);
}

/* A directory itself: only of the source's own is it news, for the parent of another is watched. */
TEST(own_events)
{
	command("cd %s && mkdir -p source/d", at.top);
	int dir = openat(at.root, "source", O_RDONLY | O_DIRECTORY),
	    sub = openat(at.root, "source/d", O_RDONLY | O_DIRECTORY);
	watch_dir(&at.watch, dir, "", true, 1);
	watch_dir(&at.watch, sub, "d", false, 1);
	close(sub);
	command("cd %s && mv source/d d", at.top);
	expect("d moved:d");
	command("cd %s && chmod 700 d", at.top);
	expect(" ALL");
	command("cd %s && mv source elsewhere", at.top);
	expect(" ALL");
	close(dir);
}

/* Events before a walk are not reported, but directories that are gone are forgotten. */
TEST(drained)
{
	command("mkdir %s/d", at.top);
	visit("", 1);
	visit("d", 1);
	command("cd %s && rmdir d && echo x > file", at.top);
	watch_drain(&at.watch);
	assert_int_equal(at.watch.dirs.n, 1);
	expect("");
}

TEST(limits)
{
	command("cd %s && mkdir a b c", at.top);
	assert_true(at.watch.most > 0);
	at.watch.most = 2;
	visit("a", 1);
	visit("b", 1);
	assert_false(at.watch.complained);
	visit("c", 1);
	assert_true(at.watch.complained);
	assert_int_equal(at.watch.dirs.n, 2);
	command("cd %s && touch a/x b/x c/x", at.top);
	expect("a/x b/x");
}

/* The kernel keeps so many events only: of the rest it says that there were some. */
TEST(too_many_events)
{
	unsigned most = 0;
	FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
	if (!file || fscanf(file, "%u", &most) != 1 || most > 1 << 18)
		most = 0;
	if (file)
		fclose(file);
	if (!most)
		skip();
	command("touch %s/file", at.top);
	visit("", 1);
	for (unsigned i = 0; i <= most / 2; i++) {
		assert_int_equal(linkat(at.root, "file", at.root, "link", 0), 0);
		assert_int_equal(unlinkat(at.root, "link", 0), 0);
	}
	watch_read(&at.watch, at.root, MOUNT_DEVICE, &at.changes);
	assert_true(at.changes.all);
	expect("");
}

/* ---- Other directories ---- */

TEST(cache)
{
	command("cd %s && mkdir cache && touch cache/x", at.top);
	int dir = openat(at.root, "cache", O_RDONLY | O_DIRECTORY);
	watch_cache(&at.watch, dir, 1);
	command("cd %s && touch cache/y", at.top);
	expect("");
	command("cd %s && rm cache/x", at.top);
	expect(" EVICTED");
	watch_sweep(&at.watch, 1);
	assert_int_equal(at.watch.dirs.n, 1);
	watch_sweep(&at.watch, 2);
	assert_int_equal(at.watch.dirs.n, 0);
	close(dir);
}

/* Of directories of debug files: they, .build-id and its parts, and nothing else. */
static void watch_debug(uint32_t pass)
{
	char debug[128], missing[128];
	snprintf(debug, sizeof(debug), "%s/debug", at.top);
	snprintf(missing, sizeof(missing), "%s/missing", at.top);
	const char *const dirs[] = {missing, debug, at.top, NULL};
	const struct search_path search = {.dirs = dirs, .n_sources = 1, .mountpoint = "mounted"};
	watch_debug_dirs(&at.watch, &search, 1, pass);
}

TEST(debug_directories)
{
	command("cd %s && mkdir -p debug/.build-id/ab debug/.build-id/cd debug/.build-id/abc debug/usr",
		at.top);
	mounted = "mounted";
	watch_debug(1);
	assert_int_equal(at.watch.dirs.n, 4);
	command("cd %s && touch debug/x", at.top);
	expect(" NEIGHBOURS");
	command("cd %s && touch debug/.build-id/cd/x", at.top);
	expect(" NEIGHBOURS");
	command("cd %s && touch debug/.build-id/abc/x debug/usr/x", at.top);
	expect("");
	command("cd %s && mkdir debug/.build-id/ef", at.top);
	expect(" ALL");
	watch_debug(2);
	assert_int_equal(at.watch.dirs.n, 5);
}

/* What is no directory is not opened: there may be a pipe, or a device. */
TEST(debug_directory_that_is_a_pipe)
{
	command("mkfifo %s/debug", at.top);
	alarm(60); /* to open it waits for a writer */
	watch_debug(1);
	alarm(0);
	assert_int_equal(at.watch.dirs.n, 0);
}

/* What lies on the mount is not opened: it would wait for the daemon itself. */
TEST(debug_directories_on_the_mount)
{
	static const struct {
		const char *name; /* "": that of the directory itself */
		size_t watched;
	} rows[] = {{"ab", 3}, {".build-id", 1}, {"", 0}};
	command("cd %s && mkdir -p debug/.build-id/ab debug/.build-id/cd", at.top);
	for (uint32_t i = 0; i < 3; i++) {
		char debug[128];
		snprintf(debug, sizeof(debug), "%s/debug", at.top);
		const char *const dirs[] = {debug, NULL};
		const struct search_path search = {.dirs = dirs, .mountpoint = rows[i].name};
		mounted = rows[i].name; /* as the mount point is */
		watch_debug_dirs(&at.watch, &search, 0, i + 1);
		watch_sweep(&at.watch, i + 1);
		assert_int_equal(at.watch.dirs.n, rows[i].watched);
	}
}

/* Without inotify nothing is watched, and nothing fails. */
TEST(unavailable)
{
	close(at.watch.fd);
	at.watch.fd = -1;
	visit("", 1);
	watch_cache(&at.watch, at.root, 1);
	watch_debug(1);
	watch_sweep(&at.watch, 2);
	assert_int_equal(at.watch.dirs.n, 0);
	assert_false(at.watch.complained);
}

EACH_TEST(set_up, tear_down)
