#include "fs/convert/revision_queue.h"

#include "work/os/monotonic.h"

void revision_queue_init(struct revision_queue *queue)
{
	user_queues_init(&queue->asked);
	user_queues_init(&queue->ahead);
	monotonic_cond_init(&queue->wake);
}

void revision_queue_deinit(struct revision_queue *queue)
{
	user_queues_deinit(&queue->asked);
	user_queues_deinit(&queue->ahead);
	pthread_cond_destroy(&queue->wake);
}

size_t revision_queue_count(const struct revision_queue *queue)
{
	return user_queues_count(&queue->asked) + user_queues_count(&queue->ahead);
}

void revision_queue_add(struct revision_queue *queue, struct revision *rev)
{
	invariant(list_empty(&rev->link));
	user_queues_add(rev->ahead ? &queue->ahead : &queue->asked, rev->requester, &rev->link, false);
	pthread_cond_signal(&queue->wake);
}

struct revision *revision_queue_take(struct revision_queue *queue)
{
	struct list *at = user_queues_take(&queue->asked);
	if (!at)
		at = user_queues_take(&queue->ahead);
	return at ? LIST_ENTRY(at, struct revision) : NULL;
}
