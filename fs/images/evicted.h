/*
 * evicted.h - closes images whose file was evicted from the cache, because only then its space is free, and
 * publishes those that are in memory, since the cache was full.
 */
#ifndef FS_IMAGES_EVICTED_H
#define FS_IMAGES_EVICTED_H

#include "fs/images/images.h"

/*
 * Closes the open images that are no longer in @cache. Those that requests or open files use stay until these
 * end. One that was not used since it was opened gets a second chance: conversions could evict one another's
 * results before the calls that wait for them resume, without end. Makes two system calls for each open
 * image, and may write files: not for FUSE threads.
 */
void images_close_evicted(struct images *images, struct cache *cache) EXCLUDES(&images->lock);

#endif
