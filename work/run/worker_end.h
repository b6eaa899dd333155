/*
 * worker_end.h - whose fault it is that a worker has failed, which decides for how long that is remembered.
 */
#ifndef WORK_RUN_WORKER_END_H
#define WORK_RUN_WORKER_END_H

#include <stdbool.h>

#include "gsym/base/fault.h"

/* Of the negative errno @err with which a worker reports a failure: a verdict's or the machine's. Pure. */
enum fault fault_of_report(int err);

/*
 * Of a worker that ended without an answer: the limit's or the machine's. @why: 0, or the negative errno for
 * which its client ended it. @status: as of wait4(2). Pure.
 */
enum fault fault_of_end(int why, int status);

/* Whether signal @sig is caused by what a process does itself. Pure. */
bool is_crash_signal(int sig);

#endif
