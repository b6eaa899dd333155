/* use.h - telling the cache which converted files are in use, so that it evicts others. */
#ifndef FS_IMAGES_USE_H
#define FS_IMAGES_USE_H

#include "fs/images/images.h"

/*
 * Writes down when each open image was last used, if the cache is so full that it may matter: eviction goes
 * by these times, that of other daemons with the same directory too. For threads that nobody waits for.
 */
void use_note(struct images *images, struct cache *cache) EXCLUDES(&images->lock);

#endif
