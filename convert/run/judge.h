/* judge.h - what a worker's end means: for those who wait, for the next try, and for the cache. */
#ifndef CONVERT_RUN_JUDGE_H
#define CONVERT_RUN_JUDGE_H

#include <sys/resource.h>

#include "convert/run/convert_job.h"

/*
 * Decides, after the worker's end, what has become of the conversion, and publishes its output if it is good.
 * @why_killed: 0, or the negative errno for which the client ended the worker; @status and @usage as of
 * wait4(2).
 */
void judge(struct convert_job *job, int why_killed, int status, const struct rusage *usage);

#endif
