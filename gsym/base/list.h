/*
 * list.h - a doubly linked ring with a head, so that an element can be removed without its list.
 *
 * An element embeds struct list as its member `link`. What guards the list guards the links.
 */
#ifndef GSYM_BASE_LIST_H
#define GSYM_BASE_LIST_H

#include "gsym/base/invariant.h"

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define LIST_ENTRY(at, type) LIST_ENTRY_OF(at, type, link)

/* Of a struct that is in another list by @member. */
#define LIST_ENTRY_OF(at, type, member) ((type *)(void *)((char *)(at)-offsetof(type, member)))

/* A loop over the elements @e, of @type, of the ring @head; its body may remove @e. */
#define LIST_EACH(type, e, head)                                                                \
	for (type *e = LIST_ENTRY((head)->next, type), *next_ = LIST_ENTRY(e->link.next, type); \
	     &e->link != (head); e = next_, next_ = LIST_ENTRY(e->link.next, type))

static inline void list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

static inline void list_append(struct list *head, struct list *at)
{
	at->prev = head->prev;
	at->next = head;
	head->prev->next = at;
	head->prev = at;
}

static inline void list_remove(struct list *at)
{
	invariant(at->prev->next == at && at->next->prev == at);
	at->prev->next = at->next;
	at->next->prev = at->prev;
	list_init(at);
}

/* How many elements there are, by going through them. */
static inline size_t list_count(const struct list *head)
{
	size_t n = 0;
	for (const struct list *at = head->next; at != head; at = at->next)
		n++;
	return n;
}

/* Takes the first element off, or gives NULL. */
static inline struct list *list_take(struct list *head)
{
	struct list *first = head->next;
	if (first == head)
		return NULL;
	list_remove(first);
	return first;
}

/* Moves all elements of @from to the end of @to. */
static inline void list_splice(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	from->prev->next = to;
	to->prev->next = from->next;
	to->prev = from->prev;
	list_init(from);
}

#endif
