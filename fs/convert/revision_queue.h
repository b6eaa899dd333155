/*
 * revision_queue.h - revisions that wait for a kind of thread.
 */
#ifndef FS_CONVERT_REVISION_QUEUE_H
#define FS_CONVERT_REVISION_QUEUE_H

#include <pthread.h>

#include "fs/images/images.h"
#include "fs/sys/user_queues.h"

/* What a kind of thread does for images: first those that a call waits for, of each user in turn. */
struct revision_queue {
	struct user_queues asked;
	struct user_queues ahead; /* requested ahead of need */
	pthread_cond_t wake;      /* of monotonic_cond_init() */
};

void revision_queue_init(struct revision_queue *queue);
void revision_queue_deinit(struct revision_queue *queue);

/* All of these with images->lock. Queues @rev, which is in no queue. */
void revision_queue_add(struct revision_queue *queue, struct revision *rev);

/* The next one; NULL if there is none. */
struct revision *revision_queue_take(struct revision_queue *queue);

/* Number of revisions that wait for a thread. */
size_t revision_queue_count(const struct revision_queue *queue);

#endif
