/* batch_map.h - functions cut into segments, made when it pays. Internal. */
#ifndef GSYM_RENDER_BATCH_MAP_H
#define GSYM_RENDER_BATCH_MAP_H

#include "batch.h"
#include "batch_memory.h"

/* Queries that are still to be answered, the first of them first. */
struct map_queries {
	const struct batch_query *v;
	size_t n;
};

/* The map of function @index if there is one; else NULL. */
static inline struct function_map *map_there(const struct memory *m, uint32_t index)
{
	const struct map_slot *slot = &m->maps[index & (m->n_maps - 1)];
	return slot->generation == m->generation && slot->index == index ? slot->map : NULL;
}

/*
 * The map of function @index, in which the first of @queries lies. NULL when that had better be looked up by itself: the function was not asked for
 * before and is large, or there is no memory.
 */
struct function_map *map_get(struct memory *m, uint32_t index, struct map_queries queries);

/* The segment that answers for @off, which is within the function; NULL when there is none. */
static inline const struct segment *map_segment(const struct function_map *map, uint32_t off)
{
	const struct segment *at = map->segments;
	size_t n = map->n;
	while (n > 1) {
		size_t half = n / 2;
		at += at[half].off <= off ? half : 0;
		n -= half;
	}
	return map->exact && at->off != off ? NULL : at;
}

#endif
