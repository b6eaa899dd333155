/*
 * liveness.h - whether a mount answers: gsymfs --check, and systemd's watchdog, which runs that.
 */
#ifndef FS_LIVENESS_H
#define FS_LIVENESS_H

#include <pthread.h>
#include <stdbool.h>

/* Exit statuses of gsymfs --check, as in gsymfs(1). */
enum liveness {
	LIVENESS_GOOD = 0,
	LIVENESS_DEAD = 1, /* no answer in time, or nothing that answers */
	LIVENESS_SCANNING = 3,
	LIVENESS_NO_WORKER = 4,
};

/*
 * Asks the daemon at @mountpoint for its status, and tells on standard error what is wrong. Takes ten seconds
 * at most, whatever the mount does; for a process with one thread.
 */
enum liveness liveness_check(const char *mountpoint);

/* The thread that feeds systemd's watchdog, if the service has one. */
struct watchdog {
	/* Set before watchdog_start(), borrowed. */
	const char *mountpoint;
	int stop_fd; /* readable once the daemon stops */

	int interval_ms;
	bool running;
	pthread_t thread;
};

/* 0 or a negative errno. Does nothing if no watchdog waits for us. */
int watchdog_start(struct watchdog *watchdog);
/* Joins the thread, if it runs; stop_fd must be readable already. */
void watchdog_stop(struct watchdog *watchdog);

#endif
