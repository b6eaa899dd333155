#include "fs/images/last_use.h"

struct used {
	struct cache_key key;
	int64_t when;
};

typedef VEC(struct used) used_vec;

static void list_used(struct images *images, used_vec *used)
{
	mutex_lock(&images->lock);
	if (vec_reserve(used, images->ready.n) == 0)
		for (size_t i = 0; i < images->ready.n; i++)
			used->v[used->n++] = (struct used){images->ready.v[i]->key, images->ready.v[i]->used};
	mutex_unlock(&images->lock);
}

void last_use_save(struct images *images, struct cache *cache)
{
	used_vec used = {0};
	if (!cache_is_tight(cache))
		return;
	list_used(images, &used);
	for (size_t i = 0; i < used.n; i++)
		cache_touch(cache, &used.v[i].key, used.v[i].when);
	vec_free(&used);
}
