#include "work/run/fault.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { LIMIT_SECONDS = 3600 /* a failure at a limit is kept */ };

enum fault fault_of_report(int err)
{
	switch (err) {
	case -EBADMSG:
	case -ENODATA:
	case -ENOEXEC:
	case -ENOTSUP:
	case -EOVERFLOW: return FAULT_FILE;
	case -EFBIG: return FAULT_LIMIT;
	}
	return FAULT_MACHINE;
}

bool is_crash_signal(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGABRT || sig == SIGILL || sig == SIGFPE ||
	       sig == SIGSYS || sig == SIGTRAP;
}

enum fault fault_of_end(int why, int status)
{
	if (why)
		return why == -ETIMEDOUT || why == -EPROTO ? FAULT_LIMIT : FAULT_MACHINE;
	if (WIFSIGNALED(status))
		return is_crash_signal(WTERMSIG(status)) || WTERMSIG(status) == SIGXCPU ? FAULT_LIMIT
											: FAULT_MACHINE;
	return FAULT_LIMIT;
}

int64_t fault_again(void)
{
	return time(NULL) + LIMIT_SECONDS;
}

bool fault_is_due(int64_t again)
{
	int64_t now = time(NULL);
	return now >= again || again > now + LIMIT_SECONDS;
}
