/* share_hold.h - leases that are held: renewed by a thread, and deleted by it when they are let go. */
#ifndef CONVERT_RUN_SHARE_SHARE_HOLD_H
#define CONVERT_RUN_SHARE_SHARE_HOLD_H

#include "convert/run/share/share.h"
#include "convert/store/lease.h"

struct share_hold;

/* Has @lease of the name @name renewed. NULL without memory: it ends by itself. */
struct share_hold *share_hold_new(struct share *share, const char *name, const struct lease *lease);

/* Does not block. NULL is allowed. */
void share_hold_end(struct share *share, struct share_hold *hold);

/* Makes the lease @name, or replaces it, as @lease says, and notes in it what came of that; within @ms. */
void share_put_lease(struct share *share, const char *name, unsigned ms, struct lease *lease);

/* The thread. */
void *share_holder(void *share);
/* After it has ended: deletes all leases that are held, until monotonic_ms() is @by. */
void share_holds_release(struct share *share, int64_t by);
void share_holds_free(struct share *share);

#endif
