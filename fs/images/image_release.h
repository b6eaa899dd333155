/*
 * image_release.h - gives back what images hold that they cannot or need not keep: files that are open or in
 * memory, stale revisions, and images of which SOURCE holds nothing any more; and tells the cache what was
 * used last, so that it keeps that.
 */
#ifndef FS_IMAGES_IMAGE_RELEASE_H
#define FS_IMAGES_IMAGE_RELEASE_H

#include "fs/images/images.h"

/*
 * Stores the time of last use of each open image as that of its cache file, if the cache is nearly full.
 * Eviction by any daemon with the same directory is ordered by these times. Does file I/O: not for FUSE
 * threads.
 */
void images_save_use(struct images *images, struct cache *cache) EXCLUDES(&images->lock);

/*
 * Closes the open images that are no longer in @cache, because only then their space is free, and publishes
 * those that are in memory since the cache was full. Those that requests or open files use stay until these
 * end. One that was not used since it was opened gets a second chance: conversions could evict one another's
 * results before the calls that wait for them resume, without end. Makes two system calls for each open
 * image, and may write files: not for FUSE threads.
 */
void images_close_evicted(struct images *images, struct cache *cache) EXCLUDES(&images->lock);

/*
 * Closes a file in memory, to make room for another of @size bytes made from a file of @owner: the one used
 * least recently of the owner whose files take most, counting that other one. So it is never one of an owner
 * who has less than @owner. What requests and open files use is not closed, nor what was opened for calls
 * that did not use it yet. False if there is none. @images: struct images; see struct cache.
 */
bool images_drop_kept(void *images, uid_t owner, uint64_t size);

/*
 * Frees what can be freed of stale revisions and images without sources. Their numbers and ids are given up
 * first, so that they can no longer be found; then those are freed that are not pinned when all threads are
 * through with what they had found before (readers.h). Called now and then; not from inside images.readers.
 */
void images_free_retired(struct images *images) EXCLUDES(&images->lock);

#endif
