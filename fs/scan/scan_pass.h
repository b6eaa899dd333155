/* scan_pass.h - one walk over SOURCE. Used by the scan thread alone. */
#ifndef FS_SCAN_SCAN_PASS_H
#define FS_SCAN_SCAN_PASS_H

#include "fs/scan/scan_state.h"

/*
 * Walks over SOURCE, updates the images, removes what is gone if the walk was complete, and wakes the calls
 * that waited for it. 0 when it was complete and every file is identified but those that are due @again, else
 * a negative errno. Ends early, and removes nothing, when the daemon ends.
 */
int scan_pass(struct scan *scan);

#endif
