/*
 * chunk.h - the places of many queries found in advance, each function in one pass over its record. Internal.
 */
#ifndef GSYM_RENDER_BATCH_CHUNK_H
#define GSYM_RENDER_BATCH_CHUNK_H

#include "gsym/render/batch/batch_cache.h"
#include "gsym/render/batch/batch_query.h"

enum { CHUNK_MOST = 256 * 1024 }; /* queries */

/*
 * Drops the places of earlier queries and sorts @queries, CHUNK_MOST at most. The cache has begun. 0 or
 * -ENOMEM.
 */
int chunk_begin(struct batch_cache *cache, const struct batch_query *queries, size_t n);

/*
 * Finds places, and renders the names in them, until @stop(@user), unless that is NULL, is true or there is
 * no room. What has no place is found as without.
 */
void chunk_find(struct batch_cache *cache, const struct render_options *options,
		bool (*stop)(const void *user), const void *user);

/* Whether there is nothing left to find. */
static inline bool chunk_is_found(const struct batch_cache *cache)
{
	return cache->chunk.done == cache->chunk.keys.n;
}

/* The place of the query at @addr, which is the one number @i from the next on, or NULL. */
static inline const struct place *chunk_place(const struct batch_cache *cache, size_t i, uint64_t addr)
{
	const struct chunk *chunk = &cache->chunk;
	const struct place *place =
		i < chunk->places.n - chunk->next ? &chunk->places.v[chunk->next + i] : NULL;
	if (!place || !place->calls)
		return NULL;
	const struct flat_calls *calls = (const struct flat_calls *)(cache->arena + place->calls);
	return cache->reader->info.base_address + calls->start + place->off == addr ? place : NULL;
}

/* Prefetches what chunk_place() of the query number @i reads, and where in the function it is. */
static inline void chunk_expect_place(const struct batch_cache *cache, size_t i)
{
	const struct chunk *chunk = &cache->chunk;
	if (i >= chunk->places.n - chunk->next)
		return;
	const struct place *place = &chunk->places.v[chunk->next + i];
	const struct flat_calls *calls = (const struct flat_calls *)(cache->arena + place->calls);
	__builtin_prefetch(calls);
	__builtin_prefetch(&calls->nodes[location_node(place->at)]);
}

/* The next @n queries are answered. */
static inline void chunk_advance(struct batch_cache *cache, size_t n)
{
	struct chunk *chunk = &cache->chunk;
	size_t left = chunk->places.n - chunk->next;
	chunk->next += n < left ? n : left;
}

#endif
