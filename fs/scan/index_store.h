/* index_store.h - the index of files on disk: one file in the cache directory for each SOURCE. */
#ifndef FS_SCAN_INDEX_STORE_H
#define FS_SCAN_INDEX_STORE_H

#include "convert/cache/cache.h"
#include "fs/scan/index.h"

/* Fills an empty index with what is known of @source. Damaged or missing files are as good as empty ones. */
void index_load(struct index *index, const struct cache *cache, const char *source);

/* Writes it down; a failure is logged and costs the next mount time. */
void index_save(const struct index *index, struct cache *cache, const char *source);

#endif
