/*
 * lanes.h - what waits for a thread: a line for each user, from which in turn the first is taken.
 *
 * So who has thousands waiting makes another user wait for one of them only. Elements embed a struct list and
 * may leave by list_remove() at any moment. No locks; the owner guards it.
 */
#ifndef FS_SYS_LANES_H
#define FS_SYS_LANES_H

#include <sys/types.h>

#include "gsym/base/list.h"
#include "gsym/base/hash_table.h"

struct lanes {
	struct table by_uid;
	struct list turns;    /* the lane whose turn is next comes first */
	struct list laneless; /* there was no memory for a lane; first of all */
};

void lanes_init(struct lanes *lanes);
/* What waits is the caller's. */
void lanes_deinit(struct lanes *lanes);

/* Puts @at at the end of the user's lane, or with @first at its front. */
void lanes_add(struct lanes *lanes, uid_t uid, struct list *at, bool first);

/* Takes what comes next, NULL when nothing waits. */
struct list *lanes_take(struct lanes *lanes);

/* Whether there may be something to take. */
bool lanes_any(const struct lanes *lanes);

/* How many wait, by going through them. */
size_t lanes_count(const struct lanes *lanes);

#endif
