/* order.h - a worker, and what it is to convert. For convert_run.c and fragment_run.c only. */
#ifndef WORK_RUN_ORDER_H
#define WORK_RUN_ORDER_H

#include "work/types/convert_address.h"
#include "work/worker/child.h"
#include "work/run/convert_job.h"

/* Copies @n addresses, at most WORKER_ASKED_MAX, into a message. Returns their number. */
uint32_t asked_put(const struct convert_address *asked, size_t n, struct worker_address *ret);

/* Sends it, with addresses that are waited for. Fails only if the worker has died. */
int order_send(const struct convert_job *job, const struct child *child, const struct convert_address *asked,
	       size_t n_asked, bool fragments_only);

/* Starts the worker of @job, which writes to @output. 0, or a negative errno with job->out->diag set. */
int order_start_worker(const struct convert_job *job, int output, struct child *ret);

#endif
