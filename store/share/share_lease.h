/*
 * share_lease.h - the lease of one conversion (lease.h): asked for, and let go of. For one thread at a time.
 */
#ifndef STORE_SHARE_SHARE_LEASE_H
#define STORE_SHARE_SHARE_LEASE_H

#include "store/share/share_parts.h"
#include "store/client/lease.h"

/* Zero-initialised: there is none. */
struct share_lease {
	char name[STORE_NAME_SIZE];
	struct lease state;
	/*
	 * What makes it, while that is not answered: the server may make it even if the call is canceled, and
	 * other hosts would wait for it until its time is over.
	 */
	struct store_call *call;
	int64_t until; /* monotonic_ms(): another host may take it over then */
};

/*
 * Begins to make the lease, or to replace another host's, as lease->state says. If that cannot be, this is
 * noted there, and there is no call.
 */
void share_lease_ask(struct share *share, struct share_lease *lease);
/* Notes @reply, and ends the call. */
void share_lease_note(struct share *share, struct share_lease *lease, const struct store_reply *reply);

/* Whether this host has it, or has asked for it without an answer so far. */
bool share_lease_is_ours(const struct share_lease *lease);

/*
 * Deletes it, unless another host may have taken it over. Does not wait for that; with @patiently it waits
 * for the answer of what makes it, and without leaves a lease that is made after this to end by itself.
 */
void share_lease_end(struct share *share, struct share_lease *lease, bool patiently);

#endif
