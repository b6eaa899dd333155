#include "fs/answer/held_handles.h"

#include <string.h>

static void charge(struct held_handles *held)
{
	size_t size = 0;
	for (size_t i = 0; i < held->n; i++)
		size += held->v[i].handle->map_size;
	account_charge(held->account, ACCOUNT_HELD, size, &held->charged);
}

static void remove_at(struct held_handles *held, size_t i)
{
	handle_put(held->v[i].handle);
	memmove(&held->v[i], &held->v[i + 1], (--held->n - i) * sizeof(*held->v));
}

static void move_to_front(struct held_handles *held, size_t i)
{
	const struct held_handle used = held->v[i];
	memmove(&held->v[1], &held->v[0], i * sizeof(*held->v));
	held->v[0] = used;
}

/* The index of the handle of @rev, or n. */
static size_t index_of(const struct held_handles *held, const struct revision *rev)
{
	size_t i = 0;
	while (i < held->n && held->v[i].revision != rev->number)
		i++;
	return i;
}

/* Closes handles until the user holds no more than permitted. */
static void shrink(struct held_handles *held)
{
	charge(held);
	while (held->n > 1 && !account_has_room(held->account, ACCOUNT_HELD, 0)) {
		remove_at(held, held->n - 1);
		charge(held);
	}
}

void held_handles_add(struct held_handles *held, const struct revision *rev, struct handle *handle)
{
	size_t i = index_of(held, rev);
	if (i < held->n && held->v[i].handle == handle) {
		move_to_front(held, i);
		return;
	}
	if (i < held->n)
		remove_at(held, i);
	else if (held->n == HELD_HANDLES)
		remove_at(held, HELD_HANDLES - 1);
	held->v[held->n++] = (struct held_handle){rev->number, handle_get(handle)};
	move_to_front(held, held->n - 1);
	shrink(held);
}

struct handle *held_handles_find(struct held_handles *held, const struct revision *rev)
{
	size_t i = index_of(held, rev);
	if (i == held->n)
		return NULL;
	move_to_front(held, i);
	return held->v[0].handle;
}

void held_handles_drop(struct held_handles *held, const struct handle *handle)
{
	for (size_t i = 0; i < held->n; i++) {
		if (held->v[i].handle == handle) {
			remove_at(held, i);
			break;
		}
	}
	charge(held);
}

void held_handles_clear(struct held_handles *held)
{
	while (held->n)
		remove_at(held, held->n - 1);
	charge(held);
}
