/*
 * file_requests.h - how a worker opens files: it requests them from its client, which decides, opens them and
 * passes the descriptor.
 */
#ifndef CLI_WORKER_FILE_REQUESTS_H
#define CLI_WORKER_FILE_REQUESTS_H

#include "work/os/mutex.h"

#include "work/types/convert_types.h"
#include "work/worker/worker.h"

struct file_requests {
	const struct worker_convert *order; /* its own files are open already */
	/* Held from a request to its reply, so that one is under way at a time; guards no field. */
	struct mutex lock;
};

/* Sets up @requests for @order, which is borrowed, and @ret, which refers to it. */
void file_requests_init(struct file_requests *requests, const struct worker_convert *order,
			struct convert_opener *ret);

#endif
