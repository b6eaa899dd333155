/* share_hold.h - leases that are held: renewed by a thread, and deleted by it when they are let go. */
#ifndef STORE_SHARE_SHARE_HOLD_H
#define STORE_SHARE_SHARE_HOLD_H

#include "store/share/share_parts.h"
#include "store/client/lease.h"

struct share_hold;

/*
 * Begins to make the lease @name, or to replace it, as @lease says. NULL if that cannot be; then that is
 * noted in @lease.
 */
struct store_call *share_lease_begin(struct share *share, const char *name, struct lease *lease);
/* Notes the answer, and counts leases that are taken. */
void share_lease_note(struct share *share, struct lease *lease, const struct store_reply *reply);

/*
 * Has @lease of the name @name renewed. NULL without memory: it ends by itself.
 *
 * @call: of share_lease_begin(), owned: it has not been answered yet, and is not waited for. If it were ended
 *        instead, the lease could be made all the same, and would hold others up until its time is over.
 *        NULL: the lease is held.
 */
struct share_hold *share_hold_new(struct share *share, const char *name, const struct lease *lease,
				  struct store_call *call);

/* Does not block. NULL is allowed. */
void share_hold_end(struct share *share, struct share_hold *hold);

/* The thread. */
void *share_holder(void *share);
/*
 * While the thread ends: deletes all leases that are held, until monotonic_ms() is @by, but for the one that
 * it is at.
 */
void share_holds_release(struct share *share, int64_t by);
/* After the thread has ended. */
void share_holds_free(struct share *share);

#endif
