/*
 * stage.h - revisions that wait for a kind of thread.
 */
#ifndef FS_CONVERT_STAGE_H
#define FS_CONVERT_STAGE_H

#include <pthread.h>

#include "fs/images/images.h"
#include "fs/sys/user_queues.h"

/* What a kind of thread does for images: first those that a call waits for, of each user in turn. */
struct stage {
	struct user_queues asked;
	struct user_queues ahead; /* requested ahead of need */
	pthread_cond_t wake;      /* of monotonic_cond_init() */
};

void stage_init(struct stage *stage);
void stage_deinit(struct stage *stage);

/* All of these with images->lock. Queues @rev, which is in no queue. */
void stage_add(struct stage *stage, struct revision *rev);

/* The next one; NULL if there is none. */
struct revision *stage_take(struct stage *stage);

/* Number of revisions that wait for a thread. */
size_t stage_count(const struct stage *stage);

#endif
