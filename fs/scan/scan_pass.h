/* scan_pass.h - one walk over SOURCE. Used by the scan thread alone. */
#ifndef FS_SCAN_SCAN_PASS_H
#define FS_SCAN_SCAN_PASS_H

#include "fs/scan/scan_state.h"

/*
 * Walks, tells the images what was found, and what is gone if the walk was complete, and wakes the calls that
 * waited for it. 0 when it was complete and saw into all files but those that are due @again, else a negative
 * errno. On the scan thread. Ends early, with nothing
 * told to be gone, when the daemon ends.
 */
int scan_pass(struct scan *scan);

#endif
