/* session.h - the FUSE session: mounting, serving, ending. */
#ifndef FS_SESSION_H
#define FS_SESSION_H

#include "fs/gsymfs.h"

/* Makes the session from what is left of the options. */
int session_make(struct gsymfs *fs, struct gsym_diag *diag);

/*
 * Mounts, leaves the starter unless it should stay in the foreground, and serves until a signal or an
 * unmount, which are both a good end: 0.
 */
int session_run(struct gsymfs *fs);

#endif
