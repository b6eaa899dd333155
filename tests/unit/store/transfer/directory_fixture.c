#include "tests/unit/store/transfer/directory_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/open_descriptors.h"
#include "tests/unit/temp_directory.h"

struct directory_world world;
char store_path[64];
int store_root;

static unsigned n_calls[DIRECTORY_CALLS];
static ino_t synced; /* the file that was synced last */

/* ---- Calls ---- */

void set_event(const struct directory_event *event)
{
	memset(n_calls, 0, sizeof(n_calls));
	world.event = *event;
	if (!world.event.nth)
		world.event.nth = 1;
}

static struct directory_event meet(enum directory_call call)
{
	struct directory_event event = world.event;
	if (++n_calls[call] != event.nth || call != event.call)
		return (struct directory_event){.call = NO_CALL};
	world.event.call = NO_CALL;
	if (event.before)
		event.before();
	errno = event.err;
	return event;
}

/* Whether a call fails, with errno. */
static bool fails_now(enum directory_call call)
{
	return meet(call).err != 0;
}

static int expect_own(int fd)
{
	const int flags = fd < 0 ? FD_CLOEXEC : fcntl(fd, F_GETFD);
	assert_int_equal(flags, FD_CLOEXEC);
	return fd;
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __real_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);
int __real_mkdirat(int dir, const char *path, mode_t mode);
int __wrap_mkdirat(int dir, const char *path, mode_t mode);
int __real_fstat64(int fd, struct stat *ret);
int __wrap_fstat64(int fd, struct stat *ret);
int __real_fstatat64(int dir, const char *path, struct stat *ret, int flags);
int __wrap_fstatat64(int dir, const char *path, struct stat *ret, int flags);
int __real_stat64(const char *path, struct stat *ret);
int __wrap_stat64(const char *path, struct stat *ret);
int __real_linkat(int dir, const char *from, int to_dir, const char *to, int flags);
int __wrap_linkat(int dir, const char *from, int to_dir, const char *to, int flags);
int __real_renameat(int dir, const char *from, int to_dir, const char *to);
int __wrap_renameat(int dir, const char *from, int to_dir, const char *to);
int __real_unlinkat(int dir, const char *path, int flags);
int __wrap_unlinkat(int dir, const char *path, int flags);
int __real_futimens(int fd, const struct timespec *times);
int __wrap_futimens(int fd, const struct timespec *times);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
ssize_t __real_pread64(int fd, void *to, size_t size, off_t off);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t off);
ssize_t __real_pwrite64(int fd, const void *from, size_t size, off_t off);
ssize_t __wrap_pwrite64(int fd, const void *from, size_t size, off_t off);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_open64(const char *path, int flags, ...)
{
	return expect_own(__real_open64(path, flags, 0600));
}

int __wrap_openat64(int dir, const char *path, int flags, ...)
{
	va_list list;
	va_start(list, flags);
	const unsigned mode = flags & O_CREAT ? va_arg(list, unsigned) : 0;
	va_end(list);
	if (fails_now(CALL_OPENAT))
		return -1;
	errno = flags & O_EXCL ? EEXIST : ENOENT; /* of an earlier call */
	return expect_own(__real_openat64(dir, path, flags, mode));
}

int __wrap_mkdirat(int dir, const char *path, mode_t mode)
{
	assert_in_range(n_calls[CALL_MKDIRAT], 0, 10); /* comes to an end */
	return fails_now(CALL_MKDIRAT) ? -1 : __real_mkdirat(dir, path, mode);
}

int __wrap_fstat64(int fd, struct stat *ret)
{
	return fails_now(CALL_FSTAT) ? -1 : __real_fstat64(fd, ret);
}

int __wrap_fstatat64(int dir, const char *path, struct stat *ret, int flags)
{
	return fails_now(CALL_FSTATAT) ? -1 : __real_fstatat64(dir, path, ret, flags);
}

int __wrap_stat64(const char *path, struct stat *ret)
{
	int err = fails_now(CALL_STAT) ? -1 : __real_stat64(path, ret);
	if (!err)
		ret->st_dev += world.other_device;
	return err;
}

static ino_t was_object; /* the last that was renamed away, and may be put back */

/* What gets the name of an object is on disk. */
static void expect_synced(int dir, const char *from, const char *to)
{
	struct stat st;
	if (*from == '.' && *to != '.' && __real_fstatat64(dir, from, &st, AT_SYMLINK_NOFOLLOW) == 0)
		assert_true(st.st_ino == synced || st.st_ino == was_object);
}

int __wrap_linkat(int dir, const char *from, int to_dir, const char *to, int flags)
{
	const struct directory_event event = meet(CALL_LINKAT);
	expect_synced(dir, from, to);
	if (event.is_skipped)
		return 0;
	if (event.err && !event.is_done)
		return -1;
	int err = __real_linkat(dir, from, to_dir, to, flags);
	if (!event.err)
		return err;
	errno = event.err;
	return -1;
}

int __wrap_renameat(int dir, const char *from, int to_dir, const char *to)
{
	struct stat st;
	expect_synced(dir, from, to);
	int err = fails_now(CALL_RENAMEAT) ? -1 : __real_renameat(dir, from, to_dir, to);
	if (!err && *to == '.' && __real_fstatat64(dir, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
		was_object = st.st_ino;
	return err;
}

int __wrap_unlinkat(int dir, const char *path, int flags)
{
	return fails_now(CALL_UNLINKAT) ? -1 : __real_unlinkat(dir, path, flags);
}

int __wrap_futimens(int fd, const struct timespec *times)
{
	if (fails_now(CALL_FUTIMENS))
		return -1;
	if (times) {
		assert_int_equal(times[0].tv_nsec, UTIME_NOW);
		assert_int_equal(times[1].tv_nsec, UTIME_OMIT);
		world.n_used++;
		return 0;
	}
	world.n_asked++;
	return __real_futimens(fd, (const struct timespec[]){world.now, world.now});
}

int __wrap_fdatasync(int fd)
{
	struct stat st;
	if (fails_now(CALL_FDATASYNC))
		return -1;
	assert_int_equal(__real_fstat64(fd, &st), 0);
	synced = st.st_ino;
	return 0;
}

ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t off)
{
	return fails_now(CALL_PREAD) ? -1 : __real_pread64(fd, to, size, off);
}

ssize_t __wrap_pwrite64(int fd, const void *from, size_t size, off_t off)
{
	return fails_now(CALL_PWRITE) ? -1 : __real_pwrite64(fd, from, size, off);
}

ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags)
{
	if (fails_now(CALL_GETRANDOM))
		return -1;
	assert_int_equal(size, sizeof(world.last_random));
	assert_int_equal(flags, 0);
	world.last_random++;
	memcpy(to, &world.last_random, size);
	return (ssize_t)size;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){.tv_sec = world.ms / 1000, .tv_nsec = world.ms % 1000 * 1000000};
	return 0;
}

/* ---- The store ---- */

static unsigned n_open; /* before the test */
static int saved_stdin = -1;

static void make_store(void)
{
	world = (struct directory_world){.ms = 5000, .now = {.tv_sec = 1000000}};
	set_event(&(const struct directory_event){.call = NO_CALL});
	synced = 0;
	live = 0;
	umask(0);
	snprintf(store_path, sizeof(store_path), "/tmp/gsymfs-store-XXXXXX");
	assert_non_null(mkdtemp(store_path));
	store_root = open(store_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(store_root >= 0);
}

static void remove_store(void)
{
	set_event(&(const struct directory_event){.call = NO_CALL});
	close(store_root);
	assert_int_equal(remove_tree(store_path), 0);
}

void close_stdin(void)
{
	saved_stdin = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
	close(STDIN_FILENO);
}

int begin_store(void **state)
{
	(void)state;
	n_open = count_open_descriptors();
	make_store();
	return 0;
}

int begin_store_without_stdin(void **state)
{
	begin_store(state);
	close_stdin();
	return 0;
}

/* The directory is removed first, also after a test that failed. */
int end_store(void **state)
{
	const bool had_stdin = saved_stdin < 0, has_stdin = fcntl(STDIN_FILENO, F_GETFD) >= 0;
	(void)state;
	if (!had_stdin) {
		dup2(saved_stdin, STDIN_FILENO);
		close(saved_stdin);
		saved_stdin = -1;
	}
	remove_store();
	assert_true(had_stdin || !has_stdin);
	assert_int_equal(count_open_descriptors(), n_open);
	return 0;
}

void write_object(const char *name, const char *bytes, size_t size, int64_t seconds)
{
	char directory[64];
	const struct timespec times[] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
	const char *slash = strchr(name, '/');
	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - name) : 0, name);
	if (slash)
		__real_mkdirat(store_root, directory, 0700);
	int fd = __real_openat64(store_root, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(__real_pwrite64(fd, bytes, size, 0), size);
	assert_int_equal(__real_futimens(fd, times), 0);
	close(fd);
}

const char *read_object_text(const char *name)
{
	static char text[4096];
	int fd = __real_openat64(store_root, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	ssize_t n = __real_pread64(fd, text, sizeof(text) - 1, 0);
	close(fd);
	assert_true(n >= 0);
	text[n] = 0;
	return text;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *names_in(const char *directory)
{
	static char text[1024];
	char names[32][64];
	const char *sorted[32];
	size_t n = 0;
	int dir =
		__real_openat64(store_root, *directory ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = dir < 0 ? NULL : fdopendir(dir);
	assert_non_null(list);
	for (const struct dirent *entry; (entry = readdir(list)) && n < 32;) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(names[n], sizeof(names[n]), "%.63s", entry->d_name);
		sorted[n] = names[n];
		n++;
	}
	closedir(list);
	qsort(sorted, n, sizeof(*sorted), compare_names);
	*text = 0;
	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", sorted[i]);
	return text;
}
