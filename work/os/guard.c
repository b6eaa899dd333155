#include "work/os/guard.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

/* Where this thread resumes after SIGBUS; NULL: outside guard_run(). The only state a signal handler can
 * reach. */
static __thread sigjmp_buf *volatile rescue;

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	(void)info;
	if (!rescue) {
		signal(sig, SIG_DFL); /* not from a guarded access: the retried instruction is fatal */
		return;
	}
	/* siglongjmp() does not return from the handler: restore the signal mask. */
	const ucontext_t *interrupted = context;
	pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask, NULL);
	siglongjmp(*rescue, 1);
}

int guard_install(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
	return sigaction(SIGBUS, &action, NULL) ? -errno : 0;
}

int guard_run(int (*work)(void *arg), void *arg)
{
	sigjmp_buf here;
	if (sigsetjmp(here, 0)) { /* 0: saving the signal mask would be a system call for every lookup */
		rescue = NULL;
		return -EFAULT;
	}
	rescue = &here;
	int result = work(arg);
	rescue = NULL;
	return result;
}
