/* The list of the objects of a directory: whole, or an error. */
#include "store/transfer/directory_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"

static char path[] = "/tmp/gsymfs-list-XXXXXX";
static int root;
static const char *const names[] = {"ab/object", "ab/other", "ab/.hidden", "ab/Not-an-object", "top"};

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(path))
		return -1;
	root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || mkdirat(root, "ab", 0700))
		return -1;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct timespec times[] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
		int fd = openat(root, names[i], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, "12345", 5) != 5 || futimens(fd, times) || close(fd))
			return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlinkat(root, names[i], 0);
	return unlinkat(root, "ab", AT_REMOVEDIR) || close(root) || rmdir(path);
}

static bool go_on(void *user)
{
	return !user;
}

static bool has(const char *text, const char *line)
{
	return strstr(text, line) != NULL;
}

TEST(lists)
{
	char text[512] = "";
	uint64_t size = 0;
	FILE *file = tmpfile();
	assert_non_null(file);
	assert_int_equal(directory_list(root, "", fileno(file), 4096, 0, go_on, NULL, &size), 0);
	assert_int_equal(pread(fileno(file), text, sizeof(text) - 1, 0), size);
	assert_true(has(text, "ab/object\t5\t1000\n") && has(text, "ab/other\t5\t1000\n"));
	assert_true(has(text, "top\t5\t1000\n"));
	assert_false(has(text, "hidden") || has(text, "Not"));
	assert_int_equal(directory_list(root, "ab/ot", fileno(file), 4096, 0, go_on, NULL, &size), 0);
	assert_int_equal(size, strlen("ab/other\t5\t1000\n"));
	fclose(file);
}

TEST(failures)
{
	char stop;
	uint64_t size = 0;
	FILE *file = tmpfile();
	assert_non_null(file);
	assert_int_equal(directory_list(root, "", fileno(file), 10, 0, go_on, NULL, &size), -EFBIG);
	assert_int_equal(directory_list(root, "", fileno(file), 4096, 0, go_on, &stop, &size), -ECANCELED);
	assert_int_equal(directory_list(-1, "", fileno(file), 4096, 0, go_on, NULL, &size), -EBADF);
	fclose(file);
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (full < 0)
		skip();
	assert_int_equal(directory_list(root, "", full, 4096, 0, go_on, NULL, &size), -ENOSPC);
	close(full);
}

ALL_TESTS(set_up, tear_down)
