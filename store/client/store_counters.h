/* store_counters.h - counters of a store. Atomic: updated by any thread. Zero-initialise; they only grow. */
#ifndef STORE_CLIENT_STORE_COUNTERS_H
#define STORE_CLIENT_STORE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

/* How requests ended, by enum store_operation. */
enum store_result {
	STORE_OK,
	STORE_MISSING,   /* -ENOENT */
	STORE_CONDITION, /* -EEXIST, -EAGAIN */
	STORE_FORBIDDEN, /* -EACCES */
	STORE_DAMAGED,   /* -EBADMSG, -EFBIG */
	STORE_LATE,      /* -ETIMEDOUT */
	STORE_FAILED,    /* -EHOSTUNREACH, -EREMOTEIO */
	STORE_SKIPPED,   /* -ENETDOWN: the breaker is open */
	STORE_CANCELED,
	STORE_RESULTS,
};

/* What came of conversions that were looked for. */
enum share_result {
	SHARE_HIT,      /* taken from the store */
	SHARE_FAILURE,  /* a failure was taken from it */
	SHARE_MISS,     /* converted here */
	SHARE_WAITED,   /* another host converted it, and it was taken after a wait */
	SHARE_HEDGED,   /* the store was slow: converted here meanwhile, and that was first */
	SHARE_REFUSED,  /* unsigned, foreign, or of another key */
	SHARE_DAMAGED,  /* refused by a check, and replaced */
	SHARE_OUTDATED, /* made with other neighbours than those that are here */
	SHARE_DOWN,     /* the store was not asked, or failed */
	SHARE_GIVEN,    /* published */
	SHARE_DROPPED,  /* not published: the queue was full, the store failed, or files changed */
	SHARE_RESULTS,
};

struct store_counters {
	_Atomic uint64_t requests[4][STORE_RESULTS]; /* by enum store_operation */
	_Atomic uint64_t shares[SHARE_RESULTS];
	_Atomic uint64_t milliseconds;   /* sum over requests */
	_Atomic uint64_t sent, received; /* bytes of bodies */
	_Atomic uint64_t leases_taken, leases_waited,
		leases_broken; /* taken over from a host that did not end */
	_Atomic uint64_t breaker_opened;
};

#endif
