#include "cli/convert/compare.h"

#include "cli/command/message.h"
#include "cli/convert/summary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int compare_here(const struct comparison *c)
{
	struct gsym_diag diag = {0};
	struct verify_report report;
	int err = verify_against(c->input, c->reader, &c->options, &report, &diag);
	if (err == -ENODATA && c->dwarf_optional) {
		complain("%s", diag.text);
		return STATUS_OK;
	}
	if (err)
		return fail(c->input, err, &diag);
	bool differ = verify_differences(&report) > 0;
	if (differ || !c->quiet)
		summary_print_report(c->file, c->input, &report);
	return differ ? STATUS_FAILED : STATUS_OK;
}

/* In a child, since a damaged file can crash third-party code, such as libdwarf before 2022. */
int compare(const struct comparison *comparison)
{
	static const char what[] = "comparison by libdwarf";
	int status;
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		return fail(what, -errno, NULL);
	if (pid == 0) {
		status = compare_here(comparison);
		/* Flushes what it printed; the exit handlers belong to the parent. */
		_exit(fflush(NULL) == 0 ? status : STATUS_FAILED);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return fail(what, -errno, NULL);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	complain("%s: killed by signal %d (%s)", what, WTERMSIG(status), strsignal(WTERMSIG(status)));
	return STATUS_FAILED;
}
