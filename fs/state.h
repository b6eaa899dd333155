/* state.h - daemon status for the log, on SIGUSR1. */
#ifndef FS_STATE_H
#define FS_STATE_H

struct gsymfs;

/* Logs the status. Takes locks briefly, one at a time; the caller holds none. */
void state_log(struct gsymfs *fs);

#endif
