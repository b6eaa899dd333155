/*
 * fragment_run.h - fragments of one image, one after the other, without converting the rest; or the details
 * of its addresses.
 *
 * A worker lives as long as more may be asked: the files are open then, so that each further fragment takes
 * milliseconds. What goes wrong is no verdict on the image: the whole conversion decides that.
 */
#ifndef WORK_RUN_FRAGMENT_RUN_H
#define WORK_RUN_FRAGMENT_RUN_H

#include "gsym/base/vec.h"
#include "work/run/converter.h"
#include "work/types/convert_types.h"

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

/* struct frame_detail as it was received. */
struct run_detail {
	struct frame_detail frame; /* its strings are in @start */
	char *start;
};

typedef VEC(struct run_detail) run_detail_vec;

/*
 * Asks for the details of the frames at a link-time address, and waits.
 *
 * @converter, @request: of the image, as for fragment_run()
 * @question: what is asked for
 * @run:  NULL before the first call, which starts the worker; not one that answers fragments
 * @ret:  details are appended, the innermost first
 * @diag: set after an error
 *
 * 0 or a negative errno, as fragment_run(). -ENODATA: the image has none.
 */
int fragment_run_details(const struct converter *converter, const struct convert_request *request,
			 const struct detail_question *question, struct fragment_run **run,
			 run_detail_vec *ret, struct gsym_diag *diag);

/* Frees all but the first @n of @details. */
void run_details_cut(run_detail_vec *details, size_t n);

/* Ends the worker. NULL is allowed. */
void fragment_run_end(struct fragment_run *run);

#endif
