/*
 * starter.h - the foreground process stays until the file system is mounted and, unless that takes too long,
 * until the first scan is over: a script that lists directories next should not find them empty.
 */
#ifndef FS_SYS_STARTER_H
#define FS_SYS_STARTER_H

#include <stdbool.h>

struct starter {
	int fd;        /* a socket whose other end waits; -1: none */
	bool released; /* by the thread that scans */
};

/*
 * Goes to the background as daemon(3) does, with no thread running yet. Returns 0 in the daemon, or a
 * negative errno and nothing happened; the starter waits, and exits.
 */
int starter_leave(struct starter *starter);

/* The kernel has accepted the connection. */
void starter_serving(const struct starter *starter);

/* There is something to see: the starter exits with 0 if the mount is served. Later calls do nothing. */
void starter_release(struct starter *starter);

#endif
