/* setup.h - what must be right before the mount, and putting the parts of the daemon together. */
#ifndef FS_SETUP_H
#define FS_SETUP_H

#include "fs/gsymfs.h"

/*
 * Finds source, mount point, cache and worker as the options say, and checks them. 0 or a negative errno with
 * words for the user.
 */
int setup_prepare(struct gsymfs *fs, struct gsym_diag *diag);

/* Initialises the parts; no thread runs yet. */
void setup_parts(struct gsymfs *fs);

/* Frees them again; no thread may run any more. */
void setup_undo(struct gsymfs *fs);

#endif
