/* chunk.h - the functions of many queries flattened, each in one pass over its record. Internal. */
#ifndef GSYM_RENDER_BATCH_CHUNK_H
#define GSYM_RENDER_BATCH_CHUNK_H

#include "gsym/render/batch/batch_cache.h"
#include "gsym/render/batch/batch_query.h"

/*
 * Flattens functions for @queries until @stop(@user), unless that is NULL, is true or there is no room. What
 * is not flattened is found as without. The cache has begun.
 */
void chunk_flatten(struct batch_cache *cache, const struct batch_query *queries, size_t n,
		   bool (*stop)(const void *user), const void *user);

#endif
