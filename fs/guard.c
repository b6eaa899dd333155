#include "guard.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

/* Where this thread goes on after a SIGBUS; NULL = nowhere. A signal handler has no other way to know. */
static __thread sigjmp_buf *volatile rescue;

static void on_bus_error(int sig)
{
	if (rescue)
		siglongjmp(*rescue, 1);
	signal(sig, SIG_DFL); /* not ours: happen again, and be fatal */
}

int guard_install(void)
{
	/*
	 * SA_NODEFER: the handler is left by a jump that does not restore the signal mask, which is cheaper.
	 */
	struct sigaction action = {.sa_handler = on_bus_error, .sa_flags = SA_NODEFER};
	return sigaction(SIGBUS, &action, NULL) ? -errno : 0;
}

int guard_run(int (*work)(void *arg), void *arg)
{
	sigjmp_buf here;
	if (sigsetjmp(here, 0)) {
		rescue = NULL;
		return -EFAULT;
	}
	rescue = &here;
	int result = work(arg);
	rescue = NULL;
	return result;
}
