/* index_store.h - the index of files on disk: one file in the cache directory for each SOURCE. */
#ifndef FS_SCAN_INDEX_STORE_H
#define FS_SCAN_INDEX_STORE_H

#include "convert/cache/cache.h"
#include "fs/scan/index.h"

/* Loads the index of @source into an empty one. A corrupt file is logged and ignored, as is a missing one. */
void index_load(struct index *index, const struct cache *cache, const char *source);

/* Saves the index. A failure is logged; the next mount then identifies all files again. */
void index_save(const struct index *index, struct cache *cache, const char *source);

#endif
