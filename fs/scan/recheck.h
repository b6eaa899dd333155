/* recheck.h - images whose neighbours have changed: a debug package was installed, a .dwo file built again.
 */
#ifndef FS_SCAN_RECHECK_H
#define FS_SCAN_RECHECK_H

#include "fs/images/images.h"
#include "convert/run/neighbour.h"

/*
 * Looks at the neighbours of all open and failed images, and has those begin anew that would now turn out
 * otherwise. Without memory some wait for the next time.
 */
void images_recheck(struct images *images, const struct search_path *search) EXCLUDES(&images->lock);

#endif
