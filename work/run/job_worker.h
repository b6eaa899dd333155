/*
 * job_worker.h - the worker of a job: it is started, told what to convert, and given the files that it asks
 * for. For convert_run.c and fragment_run.c only.
 */
#ifndef WORK_RUN_JOB_WORKER_H
#define WORK_RUN_JOB_WORKER_H

#include <sys/resource.h>
#include "work/run/convert_job.h"
#include "work/types/convert_address.h"
#include "work/worker/child.h"

/* Starts the worker of @job, which writes to @output. 0, or a negative errno with job->out->diag set. */
int job_start_worker(const struct convert_job *job, int output, struct child *ret);

/* Copies @n addresses, at most WORKER_ASKED_MAX, into a message. Returns their number. */
uint32_t job_put_asked(const struct convert_address *asked, size_t n, struct worker_address *ret);

/*
 * Sends the order to convert. Fails only if the worker has died.
 *
 * @job:            with its request
 * @child:          the worker
 * @asked:          addresses that are waited for
 * @n_asked:        their number, at most WORKER_ASKED_MAX
 * @purpose:        what the worker is to do
 *
 * 0 or a negative errno of sending.
 */
int job_send_order(const struct convert_job *job, const struct child *child,
		   const struct convert_address *asked, size_t n_asked, enum worker_purpose purpose);

/* ---- Files that the worker asks for ---- */

/* Opens a neighbour for the worker, or replies with an errno. 0. */
int job_open_neighbour(struct convert_job *job, const struct child *child, const struct worker_open *m);

/* Fetches a debug file for the worker, which waits. 0, or -ECANCELED if the daemon ends. */
int job_fetch(struct convert_job *job, const struct child *child, const struct worker_fetch *m);

/* ---- The outcome after the worker has exited: verdict.c ---- */

/*
 * Sets the outcome of the job, whose worker has exited, and publishes its output if it succeeded.
 * @why_killed: 0, or the negative errno for which the client killed the worker.
 * @status, @usage: as of wait4(2).
 */
void verdict_decide(struct convert_job *job, int why_killed, int status, const struct rusage *usage);

#endif
