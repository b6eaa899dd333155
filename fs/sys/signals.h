/*
 * signals.h - SIGTERM and SIGINT end the session, SIGUSR1 and SIGHUP ask for something; on a terminal that is
 * closed SIGHUP ends it, too.
 *
 * libfuse's own handlers set a flag, and a signal that arrives just before the main thread begins to wait is
 * lost: the daemon then goes on until the next one. Here a thread takes the signals and wakes the main thread
 * until it has noticed.
 */
#ifndef FS_SYS_SIGNALS_H
#define FS_SYS_SIGNALS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct fuse_session;

struct signals {
	struct fuse_session *session;       /* borrowed */
	void (*ending)(void *user);         /* called before the loop is told to end, while it still serves */
	void (*asked)(void *user, int sig); /* called at SIGUSR1 and SIGHUP */
	void *user;
	bool on_terminal; /* SIGHUP ends the session */
	pthread_t main;   /* the thread that runs the session's loop */
	pthread_t thread;
	bool running;
	atomic_bool taken; /* a signal ends the session */
	atomic_bool done;  /* the loop has ended */
};

/* Keeps the signals for the thread below; before any thread starts. */
void signals_block(void);

/* Lets signals_wake() interrupt the calling thread. */
void signals_accept_wake(void);

/* Interrupts what @thread waits in; if it is about to wait, that may be lost: repeat it. */
void signals_wake(pthread_t thread);

/*
 * Starts the thread that takes them, from the thread that will run the loop; session, ending, asked and user
 * are set. 0 or a negative errno.
 */
int signals_start(struct signals *signals);

/* After the loop: ends the thread, if it runs. */
void signals_stop(struct signals *signals);

#endif
