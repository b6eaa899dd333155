/* thread.h - threads that leave signals to the main one. */
#ifndef WORK_OS_THREAD_H
#define WORK_OS_THREAD_H

#include <pthread.h>
#include <signal.h>

/*
 * Starts a thread called @name (at most 15 characters) with all signals blocked but those a fault raises. 0
 * or a negative errno.
 */
static inline int thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = pthread_create(ret, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_setname_np(*ret, name);
	return -err;
}

#endif
