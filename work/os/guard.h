/*
 * guard.h - survives SIGBUS when a mapped file is truncated.
 *
 * The cache directory belongs to the daemon's user and its files are never truncated in place, so this should
 * not happen. If it does, accessing the lost pages raises SIGBUS, and one corrupt file must not end the
 * daemon.
 */
#ifndef WORK_OS_GUARD_H
#define WORK_OS_GUARD_H

/* Installs the SIGBUS handler, once, before any thread. 0 or a negative errno. */
int guard_install(void);

/*
 * Calls @work, which reads a mapping, and returns its value; -EFAULT if it accessed a page beyond the end of
 * the file. It is then abandoned by a jump: it must hold no lock, and own no memory that @arg does not lead
 * to.
 */
int guard_run(int (*work)(void *arg), void *arg);

#endif
