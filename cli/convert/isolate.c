#include "cli/convert/isolate.h"

#include "cli/command/message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_child(int (*step)(void *user), void *user)
{
	int status = step(user);
	/* Flushes what the step printed; the exit handlers belong to the parent. */
	_exit(fflush(NULL) == 0 ? status : STATUS_FAILED);
}

int isolate(int (*step)(void *user), void *user, const char *what)
{
	int status;
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		return fail(what, -errno, NULL);
	if (pid == 0)
		run_child(step, user);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return fail(what, -errno, NULL);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	complain("%s: killed by signal %d (%s)", what, WTERMSIG(status), strsignal(WTERMSIG(status)));
	return STATUS_FAILED;
}
