/*
 * user_queues.h - per-user FIFO queues, served round robin.
 *
 * A user with thousands of queued elements delays another user's element by one of them only. Elements embed
 * a struct list and may leave by list_remove() at any time. Not locked; the owner guards it.
 */
#ifndef FS_SYS_USER_QUEUES_H
#define FS_SYS_USER_QUEUES_H

#include <sys/types.h>

#include "gsym/base/list.h"
#include "gsym/base/hash_table.h"

struct user_queues {
	struct table by_uid;
	struct list round;  /* the queues in the order in which they are served */
	struct list shared; /* elements for which no queue could be allocated; served before all others */
};

void user_queues_init(struct user_queues *queues);
/* Frees the queues; elements that are still queued belong to the caller. */
void user_queues_deinit(struct user_queues *queues);

/* Appends @at to the queue of @uid, or with @first puts it at the front. */
void user_queues_add(struct user_queues *queues, uid_t uid, struct list *at, bool first);

/* Removes the next element and returns it; NULL if there is none. */
struct list *user_queues_take(struct user_queues *queues);

/* False only if there is nothing to take. */
bool user_queues_any(const struct user_queues *queues);

/* Number of queued elements, in linear time. */
size_t user_queues_count(const struct user_queues *queues);

#endif
