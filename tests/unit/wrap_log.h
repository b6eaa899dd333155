/*
 * wrap_log.h - keeps the lines of the log instead of writing them to standard error. Links with --wrap=write.
 */
#ifndef TESTS_WRAP_LOG_H
#define TESTS_WRAP_LOG_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/unit.h"

ssize_t __real_write(int fd, const void *from, size_t size);

extern char logged[16384];
char logged[16384]; /* one line a message, with the first letter of its level */

/* One call is one line: see log.c. */
ssize_t __wrap_write(int fd, const void *from, size_t size)
{
	static const char *const levels[] = {"gsymfs: error: ", "gsymfs: warning: ", "gsymfs: "};
	const char *text = from;
	size_t i = 0, n = strlen(logged);
	if (fd != STDERR_FILENO)
		return __real_write(fd, from, size);
	while (strncmp(text, levels[i], strlen(levels[i])) != 0)
		assert_true(++i < 3);
	size_t begin = strlen(levels[i]);
	assert_true(n + size < sizeof(logged));
	n += (size_t)snprintf(logged + n, sizeof(logged) - n, "%c ", "EWI"[i]);
	memcpy(logged + n, text + begin, size - begin);
	logged[n + size - begin] = 0;
	return (ssize_t)size;
}

#endif
