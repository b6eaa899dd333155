#include "work/run/worker_end.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

enum fault fault_of_report(int err)
{
	const enum fault fault = fault_of(err);
	return fault == FAULT_FILE || fault == FAULT_LIMIT ? fault : FAULT_MACHINE;
}

bool is_crash_signal(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGABRT || sig == SIGILL || sig == SIGFPE ||
	       sig == SIGSYS || sig == SIGTRAP;
}

/* -ETIMEDOUT and -EPROTO are the client's words for a worker that took too long, or broke the protocol. */
enum fault fault_of_end(int why, int status)
{
	if (why)
		return why == -ETIMEDOUT || why == -EPROTO ? FAULT_LIMIT : FAULT_MACHINE;
	if (WIFSIGNALED(status))
		return is_crash_signal(WTERMSIG(status)) || WTERMSIG(status) == SIGXCPU ? FAULT_LIMIT
											: FAULT_MACHINE;
	return FAULT_LIMIT;
}
