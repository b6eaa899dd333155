/*
 * share_turn.h - one conversion's way through the store: looking for it, waiting for another host, or having
 * it while the worker runs.
 */
#ifndef STORE_SHARE_SHARE_TURN_H
#define STORE_SHARE_SHARE_TURN_H

#include "work/run/convert_job.h"
#include "store/share/share.h"

/* The hooks of a converter with a store; take() blocks for at most the time of share.wait_ms. */
extern const struct result_store share_store;

/*
 * After SHARE_ELSEWHERE: an answer waits that only the whole conversion has, so that another host is waited
 * for no longer than the store, from the first look on. Returns when that is over, of monotonic_ms().
 */
int64_t share_turn_hurry(const struct share *share, struct share_turn *turn);

/* Ends what is under way, lets go of the lease, and frees; NULL is allowed. */
void share_turn_end(struct share *share, struct share_turn *turn);

#endif
