/* Which files are evicted from the cache: no owner's files take the place of another's. */
#include "work/cache/cache_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/unit/temp_directory.h"
#include "work/cache/cache_temp.h"

enum { BLOCK = 64 * 1024, NAME_SIZE = CACHE_KEY_SIZE + 8 };

struct place {
	char path[64];
	int dir;
	struct log log;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	strcpy(p->path, "/tmp/check-cache-dir-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	p->dir = open(p->path, O_RDONLY | O_DIRECTORY);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	close(p->dir);
	assert_int_equal(remove_tree(p->path), 0);
	free(p);
	return 0;
}

/* The name of entry @i of @owner. */
static const char *name_of(uint32_t owner, unsigned i)
{
	static char name[NAME_SIZE];
	snprintf(name, sizeof(name), "%02x-%08x%032x" CACHE_GSYM_SUFFIX, i, owner, i);
	return name;
}

/* A file of @blocks blocks, last used at @used. */
static void add_named(const struct place *p, const char *name, unsigned blocks, int64_t used)
{
	static const char block[BLOCK];
	int fd = openat(p->dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	for (unsigned i = 0; i < blocks; i++)
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	assert_int_equal(fsync(fd), 0); /* blocks are counted once they are allocated */
	assert_int_equal(futimens(fd, (const struct timespec[]){{.tv_sec = used}, {.tv_sec = used}}), 0);
	close(fd);
}

static void add(const struct place *p, uint32_t owner, unsigned i, unsigned blocks, int64_t used)
{
	add_named(p, name_of(owner, i), blocks, used);
}

static bool has(const struct place *p, uint32_t owner, unsigned i)
{
	return faccessat(p->dir, name_of(owner, i), F_OK, 0) == 0;
}

/* Evicts above @limit blocks down to as many. */
static struct cache_sum evict(const struct place *p, unsigned limit, const char *keep)
{
	const struct cache_bounds bounds = {.limit = (uint64_t)limit * BLOCK,
					    .target = (uint64_t)limit * BLOCK};
	return cache_dir_evict(p->dir, &bounds, keep, &p->log);
}

TEST_OF(owners_keep_their_share, const struct place, p)
{
	for (unsigned i = 0; i < 3; i++)
		add(p, 0, i, 1, 100 + i); /* used long ago */
	for (unsigned i = 0; i < 6; i++)
		add(p, 1000, i, 4, 1000 + i);
	struct cache_sum sum = evict(p, 12, name_of(1000, 5));
	assert_int_equal(sum.bytes, 11 * BLOCK);
	assert_int_equal(sum.files, 5);
	for (unsigned i = 0; i < 3; i++)
		assert_true(has(p, 0, i));
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(has(p, 1000, i), i >= 4);
}

/* What the largest share cannot give is not taken from others. */
TEST_OF(one_large_file_evicts_no_others, const struct place, p)
{
	for (unsigned i = 0; i < 3; i++)
		add(p, 0, i, 1, 100 + i);
	add(p, 1000, 0, 2, 500);
	add(p, 1000, 1, 9, 1000);
	assert_int_equal(evict(p, 8, name_of(1000, 1)).bytes, 12 * BLOCK);
	for (unsigned i = 0; i < 3; i++)
		assert_true(has(p, 0, i));
	assert_false(has(p, 1000, 0));
	assert_true(has(p, 1000, 1));
	assert_int_equal(evict(p, 8, "").bytes, 3 * BLOCK); /* it is not kept for long */
	assert_false(has(p, 1000, 1));
}

/* Shares of equal owners shrink in turn, each by last use. */
TEST_OF(equal_owners_shrink_alike, const struct place, p)
{
	for (unsigned i = 0; i < 4; i++)
		for (uint32_t owner = 1; owner <= 3; owner++)
			add(p, owner, i, 1, 100 * owner + i);
	assert_int_equal(evict(p, 6, "").bytes, 6 * BLOCK);
	for (unsigned i = 0; i < 4; i++)
		for (uint32_t owner = 1; owner <= 3; owner++)
			assert_int_equal(has(p, owner, i), i >= 2);
}

/* Of equal shares that of the lowest owner is first, whatever the order of the directory. */
TEST_OF(first_of_equal_owners, const struct place, p)
{
	for (uint32_t owner = 3; owner >= 1; owner--)
		for (unsigned i = 0; i < 2; i++)
			add(p, owner, i, 1, 1000 - 100 * owner + i);
	assert_int_equal(evict(p, 5, "").bytes, 5 * BLOCK);
	assert_false(has(p, 1, 0));
	assert_int_equal(evict(p, 4, "").bytes, 4 * BLOCK);
	assert_false(has(p, 2, 0));
	assert_true(has(p, 1, 1) && has(p, 2, 1) && has(p, 3, 0) && has(p, 3, 1));
}

/* Failures belong to owners, too; entries of earlier versions go, and foreign files stay. */
TEST_OF(only_own_files_go, const struct place, p)
{
	char failed[NAME_SIZE], earlier[NAME_SIZE];
	snprintf(failed, sizeof(failed), "01-%08x%032x" CACHE_FAILED_SUFFIX, 1000, 1);
	snprintf(earlier, sizeof(earlier), "01-%032x" CACHE_GSYM_SUFFIX, 1);
	add_named(p, failed, 4, 100);
	add_named(p, earlier, 3, 100);
	add_named(p, "notes-01.gsym", 9, 1);
	add(p, 0, 1, 2, 200);
	assert_int_equal(evict(p, 6, "").bytes,
			 6 * BLOCK); /* root's share, with the earlier entry, is larger */
	assert_int_equal(faccessat(p->dir, earlier, F_OK, 0), -1);
	assert_int_equal(faccessat(p->dir, failed, F_OK, 0), 0);
	assert_int_equal(evict(p, 3, "").bytes, 2 * BLOCK);
	assert_int_equal(faccessat(p->dir, failed, F_OK, 0), -1);
	assert_int_equal(faccessat(p->dir, "notes-01.gsym", F_OK, 0), 0);
	assert_true(has(p, 0, 1));
}

/* ---- The directory itself ---- */

static int open_dir(const char *path, int *ret_fd, char **ret_path, const char *message)
{
	struct gsym_diag diag = {""};
	int err = cache_dir_open(path, ret_fd, ret_path, &diag);
	if (!strstr(diag.text, message))
		fail_msg("'%s' without '%s'", diag.text, message);
	return err;
}

TEST_OF(directory_is_made, const struct place, p)
{
	char path[128], *own;
	struct stat st;
	int fd;
	mode_t mask = umask(022);
	snprintf(path, sizeof(path), "%s/a/b//c", p->path);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(open_dir(path, &fd, &own, ""), 0);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC); /* no worker has it */
		assert_int_equal(fstat(fd, &st), 0);
		assert_true(S_ISDIR(st.st_mode));
		assert_int_equal(st.st_mode & 07777, 0700);
		assert_string_equal(strrchr(own, '/'), "/c");
		assert_null(strstr(own, "//"));
		assert_int_equal(own[0], '/');
		close(fd);
		free(own);
	}
	assert_int_equal(fstatat(p->dir, "a/b", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	umask(mask);
}

TEST_OF(directories_that_are_refused, const struct place, p)
{
	char path[128], *own = NULL;
	int fd = -1;
	snprintf(path, sizeof(path), "%s/x", p->path);
	assert_int_equal(mkdir(path, 0700), 0);
	static const mode_t modes[] = {0700, 0755, 0711, 0720, 0702, 0777};
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		bool refused = modes[i] & 022;
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(
			open_dir(path, &fd, &own, refused ? "is writable by others: chmod it to 0700" : ""),
			refused ? -EPERM : 0);
		if (refused)
			continue;
		close(fd);
		free(own);
	}
	assert_int_equal(chmod(path, 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(open_dir(path, &fd, &own, "belongs to user 65534"), -EPERM);
	}
	assert_int_equal(rmdir(path), 0);
	add_named(p, "x", 1, 0);
	assert_int_equal(open_dir(path, &fd, &own, "cannot open: Not a directory"), -ENOTDIR);
	strcat(path, "/y");
	assert_int_equal(open_dir(path, &fd, &own, "cannot create: Not a directory"), -ENOTDIR);
}

int __real_flock(int fd, int operation);

static int flock_error; /* 0: it locks */

/* No program that is started meanwhile gets the descriptor, and with it the lock. */
int __wrap_flock(int fd, int operation)
{
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	if (flock_error) {
		errno = flock_error;
		return -1;
	}
	return __real_flock(fd, operation);
}

/* A daemon that ends closes its own descriptors, while a worker may still have the one that it writes to. */
TEST_OF(temporary_file_of_the_dead, const struct place, p)
{
	struct cache cache = {.path = (char *)p->path, .dir = p->dir};
	struct gsym_diag diag = {""};
	struct cache_temp temp;
	assert_int_equal(cache_temp_open(&cache, &temp, &diag), 0);
	int of_worker = dup(temp.fd);
	assert_true(of_worker >= 0);
	cache_dir_clean(p->dir, &p->log);
	assert_int_equal(faccessat(p->dir, temp.name, F_OK, 0), 0);
	close(temp.fd);
	close(temp.lock);
	cache_dir_clean(p->dir, &p->log);
	assert_int_equal(faccessat(p->dir, temp.name, F_OK, 0), -1);
	close(of_worker);
}

/* To callers these of a disk or a server would mean that files changed, or that a store failed. */
TEST(errors_of_temporary_files)
{
	static const struct {
		int error, result;
	} errors[] = {
		{ESTALE, -EIO},    {EBADMSG, -EIO}, {ETIMEDOUT, -EIO}, {EREMOTEIO, -EIO},
		{ENOLCK, -ENOLCK}, {EIO, -EIO},     {EACCES, -EACCES}, {EWOULDBLOCK, -EEXIST},
	};
	const struct place *p = *state;
	struct cache cache = {.path = (char *)p->path, .dir = p->dir};
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		struct gsym_diag diag = {""};
		struct cache_temp temp;
		flock_error = errors[i].error;
		int err = cache_temp_open(&cache, &temp, &diag);
		flock_error = 0;
		assert_int_equal(err, errors[i].result);
		assert_non_null(strstr(diag.text, strerror(-errors[i].result)));
	}
	assert_int_equal(rmdir(p->path), 0); /* nothing is left */
	assert_int_equal(mkdir(p->path, 0700), 0);
}

EACH_TEST(setup, teardown)
