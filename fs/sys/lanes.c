#include "fs/sys/lanes.h"

#include <stdlib.h>

/* One that has become empty stays until its turn comes. */
struct lane {
	struct table_link table;
	struct list link; /* in lanes.turns */
	struct list waiting;
	uid_t uid;
};

void lanes_init(struct lanes *lanes)
{
	lanes->by_uid = (struct table){0};
	list_init(&lanes->turns);
	list_init(&lanes->laneless);
}

static void drop(struct lanes *lanes, struct lane *lane)
{
	table_remove(&lanes->by_uid, &lane->table);
	list_remove(&lane->link);
	free(lane);
}

void lanes_deinit(struct lanes *lanes)
{
	while (!list_empty(&lanes->turns))
		drop(lanes, LIST_ENTRY(lanes->turns.next, struct lane));
	table_deinit(&lanes->by_uid);
}

static struct lane *find(const struct lanes *lanes, uid_t uid)
{
	for (struct table_link *l = table_first(&lanes->by_uid, uid); l; l = table_next(l, uid))
		return TABLE_ENTRY(l, struct lane); /* the hash is the key */
	return NULL;
}

static struct lane *open_lane(struct lanes *lanes, uid_t uid)
{
	struct lane *lane = malloc(sizeof(*lane));
	if (!lane)
		return NULL;
	lane->uid = uid;
	list_init(&lane->waiting);
	if (table_add(&lanes->by_uid, &lane->table, uid)) {
		free(lane);
		return NULL;
	}
	list_append(&lanes->turns, &lane->link);
	return lane;
}

void lanes_add(struct lanes *lanes, uid_t uid, struct list *at, bool first)
{
	struct lane *lane = find(lanes, uid);
	if (!lane)
		lane = open_lane(lanes, uid);
	struct list *waiting = lane ? &lane->waiting : &lanes->laneless;
	list_append(first ? waiting->next : waiting, at); /* before the first, or the head */
}

struct list *lanes_take(struct lanes *lanes)
{
	struct list *at = list_take(&lanes->laneless);
	while (!at && !list_empty(&lanes->turns)) {
		struct lane *lane = LIST_ENTRY(lanes->turns.next, struct lane);
		at = list_take(&lane->waiting);
		if (list_empty(&lane->waiting)) {
			drop(lanes, lane);
		} else { /* the others have their turn first */
			list_remove(&lane->link);
			list_append(&lanes->turns, &lane->link);
		}
	}
	return at;
}

bool lanes_any(const struct lanes *lanes)
{
	return !list_empty(&lanes->turns) || !list_empty(&lanes->laneless);
}

size_t lanes_count(const struct lanes *lanes)
{
	size_t n = list_count(&lanes->laneless);
	for (const struct list *at = lanes->turns.next; at != &lanes->turns; at = at->next)
		n += list_count(&LIST_ENTRY(at, struct lane)->waiting);
	return n;
}
