/*
 * memory_limit.h - why there was no memory: this process is at its limit, or the machine has none left.
 *
 * Both fail with ENOMEM. A process at RLIMIT_DATA fails there again, which its client remembers; what the
 * machine lacks it may have a moment later. The two are told apart where an allocation fails, since the
 * process may have freed much before it reports the failure: what the kernel counts against the limit then,
 * and the size that was wanted, exceed the limit or do not.
 *
 * In the program gsym, failures of malloc(3) and its like are noted by allocation.c. Those of mmap(2) and in
 * libraries are noted where they are seen.
 */
#ifndef WORK_TYPES_MEMORY_LIMIT_H
#define WORK_TYPES_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * From now on failures are compared with RLIMIT_DATA as it is. Needs /proc, without which each is the
 * machine's. Once, before the sandbox and before other threads; until then nothing is noted.
 */
void memory_limit_watch(void);

/*
 * An allocation of @size bytes has failed; 0: of some that a library wanted. Allocates nothing, and keeps
 * errno. Any thread.
 */
void memory_limit_note(size_t size);

/* Whether the last failure that was noted was for the limit. */
bool memory_limit_is_reached(void);

#endif
