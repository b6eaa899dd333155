#include "fs/convert/stage.h"

#include "work/os/monotonic.h"

void stage_init(struct stage *stage)
{
	user_queues_init(&stage->asked);
	user_queues_init(&stage->ahead);
	monotonic_cond_init(&stage->wake);
}

void stage_deinit(struct stage *stage)
{
	user_queues_deinit(&stage->asked);
	user_queues_deinit(&stage->ahead);
	pthread_cond_destroy(&stage->wake);
}

size_t stage_count(const struct stage *stage)
{
	return user_queues_count(&stage->asked) + user_queues_count(&stage->ahead);
}

void stage_add(struct stage *stage, struct revision *rev)
{
	invariant(list_empty(&rev->link));
	user_queues_add(rev->ahead ? &stage->ahead : &stage->asked, rev->requester, &rev->link, false);
	pthread_cond_signal(&stage->wake);
}

struct revision *stage_take(struct stage *stage)
{
	struct list *at = user_queues_take(&stage->asked);
	if (!at)
		at = user_queues_take(&stage->ahead);
	return at ? LIST_ENTRY(at, struct revision) : NULL;
}
