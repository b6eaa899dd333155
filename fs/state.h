/* state.h - what the daemon is at, in words for its log: what SIGUSR1 asks for. */
#ifndef FS_STATE_H
#define FS_STATE_H

struct gsymfs;

/* Writes it down. Holds each lock only while it counts; called by any thread that holds none. */
void state_log(struct gsymfs *fs);

#endif
