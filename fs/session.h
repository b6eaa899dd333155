/* session.h - the FUSE session: mount, serve, unmount. */
#ifndef FS_SESSION_H
#define FS_SESSION_H

#include "fs/gsymfs.h"

/*
 * Creates the session with the options that were left for libfuse. 0, or a negative errno with a diagnosis.
 */
int session_make(struct gsymfs *fs, struct gsym_diag *diag);

/*
 * Mounts, goes to the background unless told otherwise (-f), and serves until a signal or an unmount.
 * 0 after either, else a negative errno, which has been logged.
 */
int session_run(struct gsymfs *fs);

#endif
