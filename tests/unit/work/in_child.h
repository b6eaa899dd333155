/* in_child.h - runs a test in a process of its own, which may give up what it has. For tests with cmocka. */
#ifndef TESTS_IN_CHILD_H
#define TESTS_IN_CHILD_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit.h"

enum { CHILD_SECONDS = 120 /* a limit that does not hold ends the child, too */ };

/* Its exit status, or 128 and the signal. */
static inline int in_child(int (*test)(void))
{
	int status;
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(CHILD_SECONDS);
		_exit(test());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
