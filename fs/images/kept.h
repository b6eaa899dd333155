/*
 * kept.h - which of the converted files in memory is closed when there are too many of them, because the
 * cache cannot be written to.
 */
#ifndef FS_IMAGES_KEPT_H
#define FS_IMAGES_KEPT_H

#include "fs/images/images.h"

/*
 * Closes a file in memory, to make room for another of @size bytes made from a file of @owner: the one used
 * least recently of the owner whose files take most, counting that other one. So it is never one of an owner
 * who has less than @owner. What requests and open files use is not closed, nor what was opened for calls
 * that did not use it yet. False if there is none. @images: struct images; see struct cache.
 */
bool images_drop_kept(void *images, uid_t owner, uint64_t size);

#endif
