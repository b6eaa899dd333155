/*
 * recheck.h - replaces revisions whose neighbours have changed: a debug package was installed, a .dwo file
 * rebuilt.
 */
#ifndef FS_SCAN_RECHECK_H
#define FS_SCAN_RECHECK_H

#include "fs/images/images.h"
#include "work/run/neighbour.h"

/*
 * Checks the neighbours of all open and failed images, and replaces the revisions whose neighbours have
 * changed. Without memory some are left for the next scan.
 */
void images_recheck(struct images *images, const struct search_path *search) EXCLUDES(&images->lock);

#endif
