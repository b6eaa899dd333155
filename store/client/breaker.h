/*
 * breaker.h - a circuit breaker: whether a server is asked.
 *
 * Closed, it opens after three failures in a row. Open for 10 seconds, and each time twice as long up to 5
 * minutes, nothing is asked. Then half open: one request is tried, and its result decides. Misses and unmet
 * conditions are no failures. A server that was up for 5 minutes begins with 10 seconds again.
 *
 * A request may end when the state in which it was allowed has passed, and then says nothing of this one:
 * the caller keeps breaker.changes with each, and notes only those of which it is still the same.
 *
 * Pure but for the struct; the caller has a lock. Times are of monotonic_ms().
 */
#ifndef STORE_CLIENT_BREAKER_H
#define STORE_CLIENT_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN };

/* Zero-initialise: closed. */
struct breaker {
	enum breaker_state state;
	/*
	 * The caller's, a random number: it is open for up to a quarter longer, so that hosts which lost a
	 * server together do not try it together.
	 */
	uint8_t jitter;
	bool trying;       /* half open: the one request is under way */
	unsigned changes;  /* of state, so far */
	unsigned in_a_row; /* failures */
	int64_t until;     /* open: until then */
	int64_t open_ms;   /* for how long it opened last */
};

/* Whether a request may be sent at @now; in half-open state only one at a time. */
bool breaker_allows(struct breaker *breaker, int64_t now);

/* A request that was allowed ended. @failed: a fault of the server. True if this opened the breaker. */
bool breaker_note(struct breaker *breaker, int64_t now, bool failed);

/* It was cancelled, which says nothing. */
void breaker_note_canceled(struct breaker *breaker);

#endif
