/*
 * fragment_run.h - fragments of one image, one after the other, without converting the rest.
 *
 * A worker lives as long as more may be asked: the files are open then, so that each further fragment takes
 * milliseconds. What goes wrong is no verdict on the image: the whole conversion decides that.
 */
#ifndef WORK_RUN_FRAGMENT_RUN_H
#define WORK_RUN_FRAGMENT_RUN_H

#include "work/run/converter.h"

struct fragment_run;

/*
 * Asks for what the image has at @n addresses, 1 to WORKER_ASKED_MAX, and waits.
 *
 * @run:        NULL before the first call, which starts the worker
 * @ret_handle: with a reference for the caller; NULL if nothing is certain at any of them
 *
 * 0 or a negative errno, after which there is nothing to be had from @run any more.
 */
int fragment_run(const struct converter *converter, const struct convert_request *request,
		 const struct convert_address *asked, size_t n, struct fragment_run **run,
		 struct handle **ret_handle);

/* Ends the worker. NULL is allowed. */
void fragment_run_end(struct fragment_run *run);

#endif
