/*
 * retry.h - when what has failed is tried again: seconds since the epoch, so that it can be kept on disk.
 */
#ifndef WORK_OS_RETRY_H
#define WORK_OS_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/* When a failure at a limit is tried again: after an hour. */
int64_t retry_at_limit(void);

enum { RETRY_SOON_MAX = 64 /* seconds */ };

/*
 * When a passing failure is tried again that has happened @n times in a row, at least once: after 1, 2, 4 ...
 * up to RETRY_SOON_MAX seconds.
 */
int64_t retry_soon(unsigned n);

/* Whether what was to be tried again @at is due, also after the clock was set back. */
bool retry_is_due(int64_t at);

#endif
