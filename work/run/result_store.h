/*
 * result_store.h - a store of conversions that hosts share, as a conversion sees it.
 *
 * The conversion calls these hooks and knows nothing of what is behind them; a converter without a store has
 * none. share.h describes the only store there is.
 */
#ifndef WORK_RUN_RESULT_STORE_H
#define WORK_RUN_RESULT_STORE_H

#include <stdbool.h>

struct convert_job;
struct share;
struct share_offer;
struct share_turn; /* the way of one conversion through the store */

enum share_step {
	SHARE_TAKEN,     /* the outcome is set */
	SHARE_ELSEWHERE, /* another host converts it: come back after outcome.wait_ms */
	SHARE_CONVERT,   /* convert it, with pending_fd() in view */
};

/* All hooks accept a NULL turn, but has_arrived() and adopt(). */
struct result_store {
	/*
	 * Looks for the result of @job, which is prepared. Blocks for a bounded time. @turn: NULL before the
	 * first call for a conversion; it is given to end() in any case, and with SHARE_ELSEWHERE to the next
	 * call.
	 */
	enum share_step (*take)(struct convert_job *job, struct share_turn **turn);
	/* Becomes readable when has_arrived() is to be called; -1: nothing is under way. */
	int (*pending_fd)(const struct share_turn *turn);
	/* True if the store has the conversion after all, and it is good: the worker may be killed then. */
	bool (*has_arrived)(struct convert_job *job, struct share_turn *turn);
	/* Sets the outcome to what has arrived, after the worker has ended. */
	void (*adopt)(struct convert_job *job, struct share_turn *turn);
	/*
	 * Makes an offer of the result of @job, converted or failed, to be given once calls that waited are
	 * woken; NULL: it is not to be given.
	 */
	struct share_offer *(*offer)(const struct convert_job *job, struct share_turn *turn);
	/* Ends what is under way, lets go of the lease, and frees. */
	void (*end)(struct share *share, struct share_turn *turn);
};

#endif
