/*
 * fault.h - whose fault it is that a worker has failed, which decides for how long the failure is remembered.
 *
 * What is neither known to be the file's own fault nor a limit is the machine's: a rule for new errors, so
 * that none of them condemns a file.
 */
#ifndef WORK_RUN_FAULT_H
#define WORK_RUN_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum fault {
	FAULT_FILE,    /* of the file: the same bytes fail again; kept until the file changes */
	FAULT_LIMIT,   /* a limit, or a crash of the worker: kept until fault_again() */
	FAULT_MACHINE, /* of the machine: memory, descriptors, signals, reading; never kept */
};

/* Of the negative errno @err with which a worker reports a failure. Pure. */
enum fault fault_of_report(int err);

/*
 * Of a worker that ended without an answer. @why: 0, or the negative errno for which its client ended it.
 * @status: as of wait4(2). Pure.
 */
enum fault fault_of_end(int why, int status);

/* Whether signal @sig is caused by what a process does itself. Pure. */
bool is_crash_signal(int sig);

/* Until when a failure of FAULT_LIMIT is kept, in seconds since the epoch. */
int64_t fault_again(void);

/* Whether a failure that was to be kept until @again is due, also after the clock was set back. */
bool fault_is_due(int64_t again);

#endif
