#include "log/engine/unexplained.h"

#include <errno.h>
#include <string.h>

static bool is_same(const struct filter_unexplained *a, const struct filter_unexplained *b)
{
	return a->cause == b->cause && strcmp(a->module.id, b->module.id) == 0 &&
	       strcmp(a->module.name, b->module.name) == 0;
}

int unexplained_add(struct unexplained_list *list, const struct filter_unexplained *frame)
{
	size_t i = 0;
	while (i < list->entries.n && !is_same(&list->entries.v[i], frame))
		i++;
	if (i >= UNEXPLAINED_MAX)
		return 0;
	if (i == list->entries.n) {
		if (vec_push(&list->entries, *frame))
			return -ENOMEM;
		list->entries.v[i].n_frames = 0;
	}
	list->entries.v[i].n_frames++;
	return 0;
}

void unexplained_deinit(struct unexplained_list *list)
{
	vec_free(&list->entries);
}

size_t unexplained_memory(const struct unexplained_list *list)
{
	return list->entries.cap * sizeof(*list->entries.v);
}
