/* flat_function.h - functions flattened into intervals, once it pays. Internal. */
#ifndef GSYM_RENDER_BATCH_FLAT_FUNCTION_H
#define GSYM_RENDER_BATCH_FLAT_FUNCTION_H

#include "gsym/render/batch/batch_cache.h"
#include "gsym/render/batch/batch_query.h"

/* Queries that are still to be answered, the first of them first. */
struct flat_queries {
	const struct batch_query *v;
	size_t n;
};

/* Function @index if it is cached, otherwise NULL. */
static inline struct flat_function *flat_function_find(const struct batch_cache *cache, uint32_t index)
{
	arena_ref ref = cache->flat[index & (cache->n_flat - 1)];
	struct flat_function *flat = ref > FLAT_NEVER ? (struct flat_function *)(cache->arena + ref) : NULL;
	return flat && flat->index == index ? flat : NULL;
}

/* Takes from @flat the texts that were dropped since it was made or asked last. */
void flat_function_forget_texts(struct batch_cache *cache, struct flat_function *flat);

/*
 * Function @index, which contains the first of @queries, flattened now if it pays. NULL when an individual
 * lookup is cheaper (first query for a large function) or there is no memory.
 */
struct flat_function *flat_function_get(struct batch_cache *cache, uint32_t index,
					struct flat_queries queries);

/*
 * Flattens function @index, the last to start at or before the @n queries at @offs, which count from the base
 * address and ascend: for these alone, or for good when it is asked often enough. Does nothing where the
 * start does not tell the function. 0, or -ENOMEM when there is no room in PART_CHUNK.
 */
int flat_function_expect(struct batch_cache *cache, uint32_t index, const uint64_t *offs, size_t n);

/* Whether an exact function has an interval for @off, which is within the function. */
static inline bool flat_function_has(const struct flat_function *flat, uint32_t off)
{
	const uint32_t *at = flat->offs;
	for (size_t n = flat->n, half; n > 1; n -= half) {
		half = n / 2;
		at += at[half] <= off ? half : 0;
	}
	return flat->n && *at == off;
}

#endif
