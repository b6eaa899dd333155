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

/*
 * Function @index, which contains the first of @queries, flattened now if it pays. NULL when an individual
 * lookup is cheaper (first query for a large function) or there is no memory.
 */
struct flat_function *flat_function_get(struct batch_cache *cache, uint32_t index,
					struct flat_queries queries);

/*
 * Whether an address in function @index, of @size bytes, can only be that of this function: no other starts
 * at the same address, and its size is known.
 */
bool flat_function_is_alone(const struct gsym_reader *reader, uint32_t index, uint32_t size);

/*
 * Flattens the function of known size for good. 0, -ENOMEM, or -E2BIG when it does not fit. @n_merged:
 * functions that share its code.
 */
int flat_function_make(struct batch_cache *cache, uint32_t index, const struct function_info *record,
		       uint32_t n_merged, struct flat_function **ret);

/* Sets calls: false when a value does not fit. */
bool flat_calls_set(struct flat_calls *calls, const struct interval_set *s,
		    const struct function_info *record);

/* What an interval says, packed: false when a value does not fit. */
bool location_pack(const struct interval *interval, packed_location *ret);

/* Gives back what a large function needed to be cut. */
void flat_function_free_scratch(struct batch_cache *cache);

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
