/* Reading and writing all or none: short counts, interruptions, ends of files. */
#include "gsym/base/file_io.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/unit.h"

enum {
	SIZE = 1000,
	BLOCK = 256 << 10, /* that copy_all() reads at once */
	AT = 7,            /* where in the file */
};

/* ---- What the kernel does ---- */

enum { ALL = 1 << 20, INTERRUPTED = -1, FAILED = -2, NOTHING = 0 };

static const int *plan; /* for each call: so many bytes at most, or one of those; after that ALL */
static size_t n_plan, calls;
static int failure = EIO; /* the errno of FAILED */

static int planned(void)
{
	int now = calls < n_plan ? plan[calls] : ALL;
	calls++;
	assert_in_range(calls, 1, 100);
	errno = now == FAILED ? failure : EINTR; /* which says nothing after a success */
	return now;
}

ssize_t __real_pread64(int fd, void *to, size_t size, off_t off);
ssize_t __real_pwrite64(int fd, const void *from, size_t size, off_t off);

ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t off)
{
	int now = planned();
	return now < 0 ? -1 : __real_pread64(fd, to, size < (size_t)now ? size : (size_t)now, off);
}

ssize_t __wrap_pwrite64(int fd, const void *from, size_t size, off_t off)
{
	int now = planned();
	return now < 0 ? -1 : __real_pwrite64(fd, from, size < (size_t)now ? size : (size_t)now, off);
}

#define PLAN(...)                                            \
	do {                                                 \
		static const int plan_[] = {__VA_ARGS__};    \
		plan = plan_;                                \
		n_plan = sizeof(plan_) / sizeof(*plan_) - 1; \
		calls = 0;                                   \
	} while (0)

/* ---- A file ---- */

static uint8_t content[SIZE];
static FILE *file;
static int fd;

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		content[i] = (uint8_t)(i * 7 + i / 256);
	file = tmpfile();
	assert_non_null(file);
	fd = fileno(file);
	PLAN(ALL);
	assert_int_equal(write_all(fd, content, SIZE, 0), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fclose(file);
	return 0;
}

static void expect_read(int err, size_t n_calls)
{
	uint8_t got[SIZE] = {0};
	assert_int_equal(read_all(fd, got, SIZE - AT, AT), err);
	assert_int_equal(calls, n_calls);
	if (!err)
		assert_memory_equal(got, content + AT, SIZE - AT);
}

TEST(reading)
{
	PLAN(ALL);
	expect_read(0, 1);
	PLAN(1, 2, 300, ALL);
	expect_read(0, 4);
	PLAN(INTERRUPTED, 5, INTERRUPTED, INTERRUPTED, ALL);
	expect_read(0, 5);
	PLAN(5, FAILED, ALL);
	expect_read(-EIO, 2);
	PLAN(FAILED, ALL);
	expect_read(-EIO, 1);
	PLAN(ALL);
	assert_int_equal(read_all(fd, NULL, 0, 0), 0);
	assert_int_equal(calls, 0);
}

/* The file ends before: no call was interrupted, whatever errno says. */
TEST(end_of_file)
{
	uint8_t got[SIZE + 1];
	PLAN(ALL);
	assert_int_equal(read_all(fd, got, SIZE + 1, 0), -EBADMSG);
	assert_int_equal(calls, 2);
	assert_int_equal(read_all(fd, got, 1, SIZE), -EBADMSG);
	assert_int_equal(read_all(fd, got, 1, SIZE - 1), 0);
	assert_int_equal(got[0], content[SIZE - 1]);
}

static void expect_written(int err, size_t n_calls)
{
	uint8_t got[SIZE];
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(write_all(fd, content, SIZE - AT, AT), err);
	assert_int_equal(calls, n_calls);
	PLAN(ALL);
	if (!err) {
		assert_int_equal(read_all(fd, got, SIZE, 0), 0);
		assert_memory_equal(got + AT, content, SIZE - AT);
	}
}

TEST(writing)
{
	PLAN(ALL);
	expect_written(0, 1);
	PLAN(1, 2, 300, ALL);
	expect_written(0, 4);
	PLAN(INTERRUPTED, 5, INTERRUPTED, ALL);
	expect_written(0, 4);
	PLAN(5, FAILED, ALL);
	expect_written(-EIO, 2);
	PLAN(NOTHING, ALL); /* it would go on for ever */
	expect_written(-EIO, 1);
}

/* What the kernel calls a bad message or no data is a bad disk, not a file that is found damaged. */
TEST(machine_errors)
{
	static const struct {
		int err, want;
	} table[] = {
		{EBADMSG, -EIO},   {ENODATA, -EIO}, {EOPNOTSUPP, -EIO}, {EOVERFLOW, -EIO},
		{ENOTCONN, -EIO},  {EFBIG, -EFBIG}, {EREMOTEIO, -EIO},  {ETIMEDOUT, -EIO},
		{ENOSPC, -ENOSPC}, {ESTALE, -EIO},  {ENOMEM, -ENOMEM},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		failure = table[i].err;
		PLAN(5, FAILED, ALL);
		expect_read(table[i].want, 2);
		PLAN(5, FAILED, ALL);
		expect_written(table[i].want, 2);
	}
	failure = EIO;
}

TEST(copying)
{
	static uint8_t large[2 * BLOCK + 5], got[2 * BLOCK + 5];
	FILE *to = tmpfile();
	assert_non_null(to);
	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (uint8_t)(i * 11 + i / 1000);
	PLAN(ALL);
	assert_int_equal(write_all(fd, large, sizeof(large), 0), 0);
	calls = 0;
	assert_int_equal(copy_all(fd, fileno(to), sizeof(large)), 0);
	assert_int_equal(calls, 6);
	assert_int_equal(read_all(fileno(to), got, sizeof(got), 0), 0);
	assert_memory_equal(got, large, sizeof(large));
	assert_int_equal(read_all(fileno(to), got, 1, sizeof(large)), -EBADMSG);
	/* Nothing is written of what cannot be read. */
	calls = 0;
	assert_int_equal(copy_all(fd, fileno(to), sizeof(large) + 1), -EBADMSG);
	assert_int_equal(calls, 6);
	PLAN(ALL, FAILED, ALL);
	assert_int_equal(copy_all(fd, fileno(to), sizeof(large)), -EIO);
	assert_int_equal(calls, 2);
	fclose(to);
}

TEST(mapping)
{
	struct stat st;
	const uint8_t *map = file_map(fd, SIZE, MAP_PRIVATE);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_memory_equal(map, content, SIZE);
	munmap((void *)(uintptr_t)map, SIZE);
	errno = 0;
	assert_ptr_equal(file_map(fd, (uint64_t)PTRDIFF_MAX + 1, MAP_PRIVATE), MAP_FAILED);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(file_stat(fd, &st), 0);
	assert_int_equal(st.st_size, SIZE);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(file_stat(-1, &st), -1);
	assert_int_equal(errno, EBADF);
}

EACH_TEST(set_up, tear_down)
