/*
 * Files opened below a directory, and who else may open them: in a directory of its own, whose parents every
 * user may search.
 */
#include "work/os/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/unit/open_descriptors.h"

#include "gsym/base/vec.h"
#include "tests/unit/temp_directory.h"

static char top_path[] = "/tmp/gsymfs-beneath-XXXXXX";
static int top;
static bool fstat_fails;
static int refusal; /* of openat2(2) */

/* With _FILE_OFFSET_BITS=64 that is the name of fstat(2). */
int __real_fstat64(int fd, struct stat *ret);
int __wrap_fstat64(int fd, struct stat *ret)
{
	if (!fstat_fails)
		return __real_fstat64(fd, ret);
	errno = EIO;
	return -1;
}

/* The C library lacks a function for openat2() alone. */
long __real_syscall(long number, int dir, const char *path, const struct open_how *how, size_t size);
long __wrap_syscall(long number, int dir, const char *path, const struct open_how *how, size_t size);
long __wrap_syscall(long number, int dir, const char *path, const struct open_how *how, size_t size)
{
	assert_int_equal(number, SYS_openat2);
	errno = refusal;
	return refusal ? -1 : __real_syscall(number, dir, path, how, size);
}

static void put_file(const char *path, mode_t mode)
{
	int fd = openat(top, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(top_path) || chmod(top_path, 0755))
		return -1;
	top = open(top_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(top, "dir", 0755) || mkdirat(top, "dir/sub", 0755))
		return -1;
	put_file("dir/sub/file", 0644);
	return symlinkat("dir/sub/file", top, "link") || symlinkat("/etc/passwd", top, "out") ||
	       symlinkat("../link", top, "dir/up") || symlinkat("../../x", top, "dir/over") ||
	       symlinkat("sub/", top, "dir/down") || symlinkat("loop", top, "loop") ||
	       symlinkat("nothing", top, "dangling");
}

static int tear_down(void **state)
{
	(void)state;
	close(top);
	return remove_tree(top_path);
}

/* What open(2) or one of ours gave, closed; 1 for a descriptor. */
static int opened(int fd)
{
	if (fd < 0)
		return fd;
	close(fd);
	return 1;
}

TEST(nothing_outside)
{
	assert_int_equal(opened(open_beneath(top, "dir/sub/file", O_RDONLY)), 1);
	assert_int_equal(opened(open_beneath(top, "link", O_RDONLY)), -ELOOP);
	assert_int_equal(opened(open_beneath(top, "../x", O_RDONLY)), -EXDEV);
	assert_int_equal(opened(open_beneath(top, "/etc/passwd", O_RDONLY)), -EXDEV);
	assert_int_equal(opened(open_path_inside(top, "link", 0)), 1);
	assert_int_equal(opened(open_path_inside(top, "dir/../dir/sub", 0)), 1);
	assert_int_equal(opened(open_path_inside(top, "out", 0)), -ELOOP);
	assert_int_equal(opened(open_path_inside(top, "dir/../../x", 0)), -EXDEV);
	assert_int_equal(opened(open_dir_inside(top, "dir/sub", 0)), 1);
	assert_int_equal(opened(open_dir_inside(top, "dir/sub/file", 0)), -ENOTDIR);
	assert_int_equal(opened(open_dir_inside(top, "..", 0)), -EXDEV);
}

TEST(target_of_a_link)
{
	struct stat want, got = {0};
	unsigned before = count_open_descriptors();
	assert_int_equal(fstatat(top, "dir/sub/file", &want, 0), 0);
	assert_int_equal(stat_link_beneath(top, "link", &got), 0);
	assert_int_equal(got.st_ino, want.st_ino);
	assert_int_equal(stat_link_beneath(top, "out", &got), -EXDEV);
	assert_int_equal(stat_link_beneath(top, "nothing", &got), -ENOENT);
	fstat_fails = true;
	int err = stat_link_beneath(top, "link", &got);
	fstat_fails = false;
	assert_int_equal(err, -EIO);
	assert_int_equal(count_open_descriptors(), before);
}

/* Closes what was opened, and returns its inode; or the negative errno. */
static long long found(int fd)
{
	struct stat st;
	if (fd < 0)
		return fd;
	assert_int_equal(__real_fstat64(fd, &st), 0);
	close(fd);
	return (long long)st.st_ino;
}

/* Every path leads to the same file or error where openat2(2) is refused. */
TEST(refused)
{
	static const int refusals[] = {ENOSYS, EPERM};
	static const char *const paths[] = {
		".",
		"./",
		"dir",
		"dir/",
		"dir//sub/./file",
		"dir/sub/file/",
		"dir/sub/file/x",
		"link",
		"link/",
		"link/x",
		"out",
		"loop",
		"dangling",
		"dir/up",
		"dir/over",
		"dir/down",
		"dir/down/file",
		"dir/down/..",
		"dir/down/../sub/file",
		"dir/..",
		"..",
		"dir/../..",
		"dir/sub/../../link",
		"nothing",
		"nothing/x",
		"/",
		"/etc",
		"",
		"../dir",
	};
	unsigned before = count_open_descriptors();
	assert_int_equal(beneath_refused(), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct stat st;
		long long want[5] = {0}, got[5];
		for (size_t k = 0; k <= ARRAY_SIZE(refusals); k++) {
			refusal = k ? refusals[k - 1] : 0;
			got[0] = found(open_beneath(top, paths[i], O_RDONLY | O_NONBLOCK));
			got[1] = found(open_beneath(top, paths[i], O_PATH | O_NOFOLLOW));
			got[2] = found(open_path_inside(top, paths[i], 0));
			got[3] = found(open_dir_inside(top, paths[i], 0));
			got[4] = stat_link_beneath(top, paths[i], &st);
			for (size_t f = 0; f < ARRAY_SIZE(got); f++) {
				if (k && got[f] != want[f])
					fail_msg("function %zu of '%s': %lld, want %lld", f, paths[i], got[f],
						 want[f]);
				want[f] = got[f];
			}
			assert_int_equal(beneath_refused(), -refusal);
		}
		refusal = 0;
	}
	assert_int_equal(count_open_descriptors(), before);
}

/* A path through many directories, up and down again, or too deep, costs no descriptor. */
TEST(refused_depth)
{
	char path[1024] = "";
	unsigned before = count_open_descriptors();
	refusal = ENOSYS;
	for (int i = 0; i < 100; i++)
		strcat(path, "dir/../");
	strcat(path, "dir/sub/file");
	assert_int_equal(opened(open_path_inside(top, path, 0)), 1);
	*path = 0;
	for (int i = 0; i < 130; i++) {
		strcat(path, "d/");
		path[strlen(path) - 1] = 0;
		assert_int_equal(mkdirat(top, path, 0755), 0);
		strcat(path, "/");
	}
	assert_int_equal(opened(open_path_inside(top, path, 0)), -ENAMETOOLONG);
	path[2 * 120] = 0;
	assert_int_equal(opened(open_path_inside(top, path, 0)), 1);
	refusal = 0;
	assert_int_equal(count_open_descriptors(), before);
}

/* So that a structure that is not filled holds no zeros. */
static void soil_stack(void)
{
	volatile char bytes[4096];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0x55;
}

TEST(devices)
{
	struct stat st;
	struct statfs fs;
	int dir = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fstatfs(dir, &fs) || fs.f_type != TMPFS_MAGIC)
		skip();
	assert_int_equal(fstat(dir, &st), 0);
	assert_int_equal(local_device(dir), st.st_dev);
	assert_int_equal(local_device(-1), 0);
	assert_int_equal(entry_device(dir, ""), st.st_dev);
	assert_int_equal(entry_device(dir, "gsymfs-nothing"), 0);
	soil_stack();
	fstat_fails = true;
	dev_t unknown = local_device(dir);
	fstat_fails = false;
	assert_int_equal(unknown, 0);
	close(dir);
	dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(local_device(dir), 0);
	close(dir);
}

static bool dir_is_open(const char *path)
{
	int fd = openat(top, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	bool open = dir_open_to_all(fd);
	close(fd);
	return open;
}

static bool file_is_open(dev_t avoid)
{
	struct stat st;
	int fd = openat(top, "dir/sub/file", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bool open = file_open_to_all(fd, &st, avoid);
	close(fd);
	return open;
}

/* Every directory on the way counts, for others, not for the owner or the group. */
TEST(open_to_all)
{
	static const mode_t closed[] = {0700, 0750, 0770, 0754, 0776};
	static const char *const dirs[] = {"dir", "dir/sub"};
	struct stat st;
	unsigned before = count_open_descriptors();
	assert_int_equal(fstat(top, &st), 0);
	if (!dir_is_open("."))
		skip(); /* of a directory for temporary files that only its user may search */
	assert_true(dir_is_open("dir/sub"));
	assert_true(file_is_open(0));
	assert_false(file_is_open(st.st_dev));
	for (size_t d = 0; d < ARRAY_SIZE(dirs); d++) {
		for (size_t i = 0; i < ARRAY_SIZE(closed); i++) {
			assert_int_equal(fchmodat(top, dirs[d], closed[i], 0), 0);
			assert_false(dir_is_open("dir/sub"));
			assert_false(file_is_open(0));
		}
		assert_int_equal(fchmodat(top, dirs[d], 0711, 0), 0);
		assert_true(file_is_open(0));
	}
	assert_false(dir_open_to_all(-1));
	assert_int_equal(count_open_descriptors(), before);
}

/* Another file has the name now: who may read that one tells nothing. */
TEST(replaced_file)
{
	struct stat st;
	int fd = openat(top, "dir/sub/file", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	st.st_ino++;
	assert_false(file_open_to_all(fd, &st, 0));
	close(fd);
}

/* Descriptor 0 is one like any other to a daemon whose standard input is closed. */
TEST(lowest_descriptor)
{
	int saved = fcntl(0, F_DUPFD_CLOEXEC, 100);
	bool expected = file_is_open(0);
	int fd = openat(top, "dir/sub/file", O_RDONLY | O_CLOEXEC);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	close(0);
	bool open = file_open_to_all(fd, &st, 0);
	if (saved >= 0)
		dup2(saved, 0);
	close(saved);
	close(fd);
	assert_int_equal(open, expected);
}

ALL_TESTS(set_up, tear_down)
