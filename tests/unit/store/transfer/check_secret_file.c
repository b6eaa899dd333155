/* Files of secrets: read whole or not at all, and whose fault it is that one cannot be used. */
#include "store/transfer/secret_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/unit/open_descriptors.h"

enum { SIZE = 16 };

static char path[] = "/tmp/check-secret-XXXXXX";
static size_t at_once = SIZE; /* bytes that one read(2) gives at most */
static unsigned interrupted;  /* reads yet */
static int read_error;

ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size);

ssize_t __wrap_read(int fd, void *to, size_t size)
{
	errno = interrupted ? EINTR : read_error;
	if (interrupted || read_error) {
		interrupted -= interrupted > 0;
		return -1;
	}
	return __real_read(fd, to, size < at_once ? size : at_once);
}

static void put(const char *text)
{
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void expect(const char *text, int want)
{
	char got[SIZE + 1];
	const unsigned before = count_open_descriptors();
	memset(got, 'x', sizeof(got));
	put(text);
	assert_int_equal(secret_file_read(path, got, SIZE), want);
	if (!want)
		assert_string_equal(got, text);
	assert_int_equal(got[SIZE], 'x');
	assert_int_equal(count_open_descriptors(), before);
}

TEST(whole_files)
{
	static const size_t pieces[] = {SIZE, 1, 7};
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		at_once = pieces[i];
		expect("", 0);
		expect("a", 0);
		expect("a\nb\n", 0);
		expect("0123456789abcde", 0);
		expect("0123456789abcdef", -EFBIG);
		expect("0123456789abcdef0", -EFBIG);
		interrupted = 3;
		expect("0123456789", 0);
	}
	at_once = SIZE;
}

TEST(unreadable)
{
	char got[SIZE];
	read_error = EIO;
	expect("a", -EIO);
	read_error = 0;
	assert_int_equal(secret_file_read("/nonexistent/gsymfs", got, sizeof(got)), -ENOENT);
	assert_int_equal(secret_file_read("/", got, sizeof(got)), -EISDIR);
}

/* A pipe without a writer does not block. */
TEST(pipes)
{
	char got[SIZE];
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(secret_file_read(path, got, sizeof(got)), 0);
	assert_string_equal(got, "");
	assert_int_equal(unlink(path), 0);
}

/* What an administrator has to mend is the store's state; what passes is not. */
TEST(whose_fault)
{
	static const int missing[] = {ENOENT,       EACCES, EPERM, ENOTDIR, EISDIR, ELOOP,
				      ENAMETOOLONG, ENXIO,  EFBIG, EINVAL,  EBADMSG};
	static const int of_machine[][2] = {{ENOMEM, ENOMEM}, {EMFILE, EMFILE}, {ENFILE, ENFILE}, {EIO, EIO},
					    {ESTALE, EIO},    {ETIMEDOUT, EIO}, {EAGAIN, EIO},    {0, 0}};
	for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++)
		assert_int_equal(secret_errno(-missing[i]), -EACCES);
	for (size_t i = 0; i < sizeof(of_machine) / sizeof(*of_machine); i++)
		assert_int_equal(secret_errno(-of_machine[i][0]), -of_machine[i][1]);
}

int main(void)
{
	int fd = mkstemp(path);
	if (fd < 0 || close(fd))
		return 1;
	return unit_run();
}
