/*
 * retired.h - frees stale revisions, and images of which SOURCE holds nothing any more.
 *
 * Their numbers and ids are given up first, so that they can no longer be found; then those are freed that
 * are not pinned when all threads are through with what they had found before (readers.h).
 */
#ifndef FS_IMAGES_RETIRED_H
#define FS_IMAGES_RETIRED_H

#include "fs/images/images.h"

/* Frees what can be. Called now and then; not from inside images.readers. */
void images_free_retired(struct images *images) EXCLUDES(&images->lock);

#endif
