#include "gsym/read/built_index.h"

#include <stdlib.h>

const struct built_index *built_index_find(const built_list *list)
{
	const struct built_index *i = atomic_load_explicit(list, memory_order_acquire);
	while (i && !atomic_load_explicit(&i->is_ready, memory_order_acquire))
		i = i->next;
	return i;
}

static void push(const built_list *list, struct built_index *index)
{
	built_list *cache = (built_list *)list; /* the only members of a reader that change */
	index->next = atomic_load(cache);
	while (!atomic_compare_exchange_weak(cache, &index->next, index))
		;
}

/* One to build, which is in the list. NULL without memory. */
static struct built_index *take_draft(const built_list *list, size_t size)
{
	struct built_index *i = atomic_load_explicit(list, memory_order_acquire);
	while (i && !atomic_exchange(&i->is_free, false))
		i = i->next;
	if (i || !(i = calloc(1, size)))
		return i;
	push(list, i);
	return i;
}

const struct built_index *
built_index_get(const struct gsym_reader *reader, const built_list *list, size_t size,
		int (*build)(struct built_index *index, const struct gsym_reader *reader),
		void (*clear)(struct built_index *index))
{
	const struct built_index *ready = built_index_find(list);
	struct built_index *draft = ready ? NULL : take_draft(list, size);
	if (!draft)
		return ready;
	draft->clear = clear;
	int err = build(draft, reader);
	ready = built_index_find(list);
	if (err || ready) {
		clear(draft);
		atomic_store(&draft->is_free, true);
		return ready;
	}
	atomic_store_explicit(&draft->is_ready, true, memory_order_release);
	return draft;
}

void built_index_add(const built_list *list, struct built_index *index)
{
	atomic_store(&index->is_ready, true);
	push(list, index);
}

void built_index_free(built_list *list)
{
	struct built_index *next, *i = atomic_load(list);
	for (; i; i = next) {
		next = i->next;
		i->clear(i);
		free(i);
	}
}
