/* A walk that meets paths of the longest size that fits, and longer ones. */
#include "fs/scan/dir_walk.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char top_path[] = "/tmp/gsymfs-walk-XXXXXX";
static int top;

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(top_path))
		return -1;
	top = open(top_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(top, "ab", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return top < 0 || fd < 0 || close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlinkat(top, "ab", 0) || close(top) || rmdir(top_path);
}

static int note_dir(void *user, const char *path, int fd, bool open_to_all)
{
	(void)user, (void)path, (void)fd, (void)open_to_all;
	return 0;
}

static int note_file(void *user, const char *path, const struct stat *st, bool open_to_all)
{
	size_t *longest = user;
	(void)st, (void)open_to_all;
	*longest = strlen(path);
	return 0;
}

/* The size of the path of the file "ab" in a directory whose path has @size bytes; 0 if it is not visited. */
static size_t visited_in(size_t size)
{
	static char dir[PATH_MAX];
	const struct log log = {.program = NULL};
	size_t found = 0;
	const struct walk_visitor visitor = {
		.dir = note_dir, .file = note_file, .user = &found, .stop_fd = -1, .log = &log};
	memset(dir, 'x', size);
	dir[size] = 0;
	assert_int_equal(walk_entry(top, top, dir, "ab", false, &visitor), 0);
	return found;
}

static void longest_path(void **state)
{
	enum { NAME = 3 /* with its slash */ };
	(void)state;
	assert_int_equal(visited_in(0), NAME - 1);
	assert_int_equal(visited_in(1), NAME + 1);
	assert_int_equal(visited_in(PATH_MAX - 1 - NAME), PATH_MAX - 1);
	assert_int_equal(visited_in(PATH_MAX - NAME), 0);
	assert_int_equal(visited_in(PATH_MAX - 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(longest_path)};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
