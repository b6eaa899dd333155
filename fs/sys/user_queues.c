#include "fs/sys/user_queues.h"

#include <stdlib.h>

/* Freed when an element is taken and none is left; one that list_remove() emptied lasts until its turn. */
struct user_queue {
	struct table_link table;
	struct list link; /* in user_queues.round */
	struct list waiting;
	uid_t uid;
};

void user_queues_init(struct user_queues *queues)
{
	queues->by_uid = (struct table){0};
	list_init(&queues->round);
	list_init(&queues->shared);
}

static void drop(struct user_queues *queues, struct user_queue *queue)
{
	table_remove(&queues->by_uid, &queue->table);
	list_remove(&queue->link);
	free(queue);
}

void user_queues_deinit(struct user_queues *queues)
{
	while (!list_empty(&queues->round))
		drop(queues, LIST_ENTRY(queues->round.next, struct user_queue));
	table_deinit(&queues->by_uid);
}

static struct user_queue *find(const struct user_queues *queues, uid_t uid)
{
	return TABLE_FIND(struct user_queue, queue, &queues->by_uid, uid, true); /* the hash is the key */
}

static struct user_queue *create(struct user_queues *queues, uid_t uid)
{
	struct user_queue *queue = malloc(sizeof(*queue));
	if (!queue)
		return NULL;
	queue->uid = uid;
	list_init(&queue->waiting);
	if (table_add(&queues->by_uid, &queue->table, uid)) {
		free(queue);
		return NULL;
	}
	list_append(&queues->round, &queue->link);
	return queue;
}

void user_queues_add(struct user_queues *queues, uid_t uid, struct list *at, bool first)
{
	struct user_queue *queue = find(queues, uid);
	if (!queue)
		queue = create(queues, uid);
	struct list *waiting = queue ? &queue->waiting : &queues->shared;
	list_append(first ? waiting->next : waiting, at); /* inserts before its first argument */
}

struct list *user_queues_take(struct user_queues *queues)
{
	struct list *at = list_take(&queues->shared);
	while (!at && !list_empty(&queues->round)) {
		struct user_queue *queue = LIST_ENTRY(queues->round.next, struct user_queue);
		at = list_take(&queue->waiting);
		if (list_empty(&queue->waiting)) {
			drop(queues, queue);
		} else { /* to the end of the round */
			list_remove(&queue->link);
			list_append(&queues->round, &queue->link);
		}
	}
	return at;
}

bool user_queues_any(const struct user_queues *queues)
{
	return !list_empty(&queues->round) || !list_empty(&queues->shared);
}

size_t user_queues_count(const struct user_queues *queues)
{
	size_t n = list_count(&queues->shared);
	for (const struct list *at = queues->round.next; at != &queues->round; at = at->next)
		n += list_count(&LIST_ENTRY(at, struct user_queue)->waiting);
	return n;
}
