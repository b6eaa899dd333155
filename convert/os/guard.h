/*
 * guard.h - reading a mapped file that might shrink.
 *
 * The cache directory is the daemon's alone and its files are never truncated in place, so this should not
 * happen. If somebody does it all the same, touching the lost pages raises SIGBUS, and one damaged file must
 * not end the daemon.
 */
#ifndef CONVERT_OS_GUARD_H
#define CONVERT_OS_GUARD_H

/* Installs the SIGBUS handler, once, before any thread. 0 or a negative errno. */
int guard_install(void);

/*
 * Calls @work, which reads a mapping, and returns its value; -EFAULT when it touched a page that is gone. It
 * was then left in the middle: it must hold no lock, and own no memory that @arg does not lead to.
 */
int guard_run(int (*work)(void *arg), void *arg);

#endif
