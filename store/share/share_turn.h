/*
 * share_turn.h - one conversion's way through the store: looking for it, waiting for another host, or having
 * it while the worker runs.
 */
#ifndef STORE_SHARE_SHARE_TURN_H
#define STORE_SHARE_SHARE_TURN_H

#include "work/run/convert_job.h"
#include "store/share/share_parts.h"

/* Ends what is under way, lets go of the lease, and frees; NULL is allowed. */
void share_turn_end(struct share *share, struct share_turn *turn);

#endif
