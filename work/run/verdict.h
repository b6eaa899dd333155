/* verdict.h - the outcome of a conversion after its worker has exited: errno, retry policy, publication. */
#ifndef WORK_RUN_VERDICT_H
#define WORK_RUN_VERDICT_H

#include <sys/resource.h>

#include "work/run/convert_job.h"

/*
 * Sets the outcome of the job, whose worker has exited, and publishes its output if it succeeded.
 * @why_killed: 0, or the negative errno for which the client killed the worker.
 * @status, @usage: as of wait4(2).
 */
void verdict_decide(struct convert_job *job, int why_killed, int status, const struct rusage *usage);

#endif
