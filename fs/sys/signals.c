#define FUSE_USE_VERSION 312
#include "fs/sys/signals.h"

#include <fuse_lowlevel.h>
#include <signal.h>
#include <time.h>

#include "work/os/thread.h"

enum {
	WAKE_SIGNAL = SIGUSR2, /* does nothing but interrupt what a thread waits in */
	WAKE_INTERVAL_MS = 20,
};

static void taken(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGUSR1);
}

static void wake(int sig)
{
	(void)sig;
}

void signals_block(void)
{
	struct sigaction action = {.sa_handler = wake};
	sigset_t set;
	taken(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(WAKE_SIGNAL, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* if inherited as ignored, the exit status of workers would be lost */
}

void signals_accept_wake(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, WAKE_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void signals_wake(pthread_t thread)
{
	pthread_kill(thread, WAKE_SIGNAL);
}

static void *take_signals(void *arg)
{
	const struct timespec interval = {.tv_nsec = WAKE_INTERVAL_MS * 1000000L};
	struct signals *s = arg;
	sigset_t set;
	int sig;
	taken(&set);
	while (sigwait(&set, &sig) == 0 && (sig == SIGUSR1 || (sig == SIGHUP && !s->on_terminal)))
		s->asked(s->user, sig);
	if (!atomic_load(&s->done)) {
		atomic_store(&s->taken, true);
		s->ending(s->user);
		fuse_session_exit(s->session);
	}
	while (!atomic_load(&s->done)) {
		signals_wake(s->main);
		nanosleep(&interval, NULL);
	}
	return NULL;
}

int signals_start(struct signals *signals)
{
	signals->main = pthread_self();
	int err = thread_start(&signals->thread, "signals", take_signals, signals);
	signals->running = !err;
	return err;
}

void signals_stop(struct signals *signals)
{
	if (!signals->running)
		return;
	atomic_store(&signals->done, true);
	pthread_kill(signals->thread, SIGTERM); /* should it still wait for one */
	pthread_join(signals->thread, NULL);
	signals->running = false;
}
