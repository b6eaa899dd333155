/*
 * asked.h - what a worker is asked first, and its answers: fragments.
 */
#ifndef CLI_WORKER_ASKED_H
#define CLI_WORKER_ASKED_H

#include "work/types/convert_types.h"
#include "work/worker/worker.h"

struct asked {
	struct convert_asked list; /* for struct convert_options */
	struct convert_address addresses[WORKER_ASKED_MAX];
	uint64_t serial;
};

/*
 * Sets up @ret with the addresses of @order. If it is for fragments only, others are received from the
 * client.
 */
void asked_init(struct asked *ret, const struct worker_convert *order);

#endif
