/*
 * share_turn.h - one conversion's way through the store: looking for it, waiting for another host, or having
 * it while the worker runs.
 */
#ifndef CONVERT_RUN_SHARE_SHARE_TURN_H
#define CONVERT_RUN_SHARE_SHARE_TURN_H

#include "convert/run/convert_job.h"
#include "convert/run/share/share.h"

struct share_turn;

enum share_step {
	SHARE_TAKEN,     /* the outcome is set */
	SHARE_ELSEWHERE, /* another host converts it: come back after outcome.wait_ms */
	SHARE_CONVERT,   /* convert it, with share_pending_fd() in view */
};

/*
 * Looks for the result of @job, which is prepared. Blocks for at most the time of share.wait_ms.
 *
 * @turn: with NULL before the first call for a conversion; to be given to share_turn_end() in any case, and
 *        with SHARE_ELSEWHERE to the next call
 */
enum share_step share_take(struct convert_job *job, struct share_turn **turn);

/*
 * After SHARE_ELSEWHERE: an answer waits that only the whole conversion has, so that another host is waited
 * for no longer than the store, from the first look on. Returns when that is over, of monotonic_ms().
 */
int64_t share_turn_hurry(const struct share *share, struct share_turn *turn);

/* Becomes readable when share_has_arrived() is to be asked; -1: nothing is under way. @turn may be NULL. */
int share_pending_fd(const struct share_turn *turn);

/* Whether the store has the conversion after all, and it is good. The worker may be killed then. */
bool share_has_arrived(struct convert_job *job, struct share_turn *turn);

/* Sets the outcome to what has arrived, after the worker has ended. */
void share_adopt(struct convert_job *job, struct share_turn *turn);

/*
 * The result of @job, converted or failed, to be given after calls that waited were woken; NULL: not to be
 * given. @turn may be NULL.
 */
struct share_offer *share_offer(const struct convert_job *job, struct share_turn *turn);

/* Ends what is under way, lets go of the lease, and frees; NULL is allowed. */
void share_turn_end(struct share *share, struct share_turn *turn);

#endif
