/* last_use.h - saves in the cache when open images were last used, for LRU eviction. */
#ifndef FS_IMAGES_LAST_USE_H
#define FS_IMAGES_LAST_USE_H

#include "fs/images/images.h"

/*
 * Stores the time of last use of each open image as that of its cache file, if the cache is nearly full.
 * Eviction by any daemon with the same directory is ordered by these times. Does file I/O: not for FUSE
 * threads.
 */
void last_use_save(struct images *images, struct cache *cache) EXCLUDES(&images->lock);

#endif
