/* index_store.h - the index of files on disk: one file in the cache directory for each SOURCE. */
#ifndef FS_SCAN_INDEX_STORE_H
#define FS_SCAN_INDEX_STORE_H

#include "work/cache/cache.h"
#include "fs/scan/index.h"

/*
 * Adds what is known of @source, an absolute path, the one with the number @root. A corrupt file is logged
 * and ignored, as is a missing one.
 */
void index_load(struct index *index, unsigned root, const struct cache *cache, const char *source);

/* Saves what is known of that source. A failure is logged; the next mount then identifies all files again. */
void index_save(const struct index *index, unsigned root, struct cache *cache, const char *source);

#endif
