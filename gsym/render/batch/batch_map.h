/* batch_map.h - functions cut into segments, made when it pays. Internal. */
#ifndef GSYM_RENDER_BATCH_BATCH_MAP_H
#define GSYM_RENDER_BATCH_BATCH_MAP_H

#include "gsym/render/batch/batch.h"
#include "gsym/render/batch/batch_memory.h"

/* Queries that are still to be answered, the first of them first. */
struct map_queries {
	const struct batch_query *v;
	size_t n;
};

/* The map of function @index if there is one; else NULL. */
static inline struct function_map *map_there(const struct memory *m, uint32_t index)
{
	room_ref ref = m->maps[index & (m->n_maps - 1)];
	struct function_map *map = ref > MAP_NEVER ? (struct function_map *)(m->room + ref) : NULL;
	return map && map->index == index ? map : NULL;
}

/*
 * The map of function @index, in which the first of @queries lies. NULL when that had better be looked up by
 * itself: the function was not asked for before and is large, or there is no memory.
 */
struct function_map *map_get(struct memory *m, uint32_t index, struct map_queries queries);

/* Whether a map of offsets that were asked for has one for @off, which is within the function. */
static inline bool map_answers(const struct function_map *map, uint32_t off)
{
	const uint32_t *at = map->offs;
	for (size_t n = map->n, half; n > 1; n -= half) {
		half = n / 2;
		at += at[half] <= off ? half : 0;
	}
	return map->n && *at == off;
}

#endif
