/*
 * stop_signals.h - SIGINT, SIGTERM and SIGHUP as a descriptor, so that temporary files and child processes go
 * before the signal ends this process.
 */
#ifndef CLI_COMMAND_STOP_SIGNALS_H
#define CLI_COMMAND_STOP_SIGNALS_H

#include <signal.h>

struct stop_signals {
	int fd; /* readable when one came */
	sigset_t before;
};

/* Blocks them, except those that are ignored. May be nested. 0 or a negative errno. */
int stop_signals_block(struct stop_signals *ret);
/* One that came meanwhile is delivered. After a failure of the former, too. */
void stop_signals_restore(struct stop_signals *signals);

#endif
