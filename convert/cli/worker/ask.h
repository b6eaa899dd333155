/*
 * ask.h - how a worker reaches files: by asking the daemon, which decides, opens and passes the descriptor.
 */
#ifndef CONVERT_CLI_WORKER_ASK_H
#define CONVERT_CLI_WORKER_ASK_H

#include <pthread.h>

#include "convert/record/convert_types.h"
#include "convert/worker/worker.h"

struct asker {
	const struct worker_convert *order; /* its own files are at hand */
	pthread_mutex_t lock;               /* one question at a time */
};

/* Sets up @asker for @order, which is borrowed, and @ret, which refers to it. */
void asker_init(struct asker *asker, const struct worker_convert *order, struct convert_opener *ret);

#endif
