/* setup.h - checks before the mount; initialises and connects the parts of the daemon. */
#ifndef FS_SETUP_H
#define FS_SETUP_H

#include "fs/gsymfs.h"

/* Finds and checks SOURCE, mount point, cache and worker. 0, or a negative errno with a diagnosis. */
int setup_prepare(struct gsymfs *fs, struct gsym_diag *diag);

/* Initialises and connects the parts; before any thread is started. */
void setup_parts(struct gsymfs *fs);

/* Frees the parts; after all threads have ended. */
void setup_undo(struct gsymfs *fs);

#endif
