/*
 * lease.h - which of several hosts converts an image: the decisions, without input and output.
 *
 * A lease is an object that is made only if there is none (STORE_IF_ABSENT). It saves work and is never
 * needed for right answers. Its holder deletes it when the conversion is published; others look for the
 * conversion at growing intervals until the lease is over, and then take it over (STORE_IF_MATCH). How old it
 * is is told by the server's clock, of which only differences are used, so that the clocks of hosts may
 * differ by hours. Where a server gives no times, or no tag, a lease cannot be taken over, and is not waited
 * for.
 *
 * A lease is not renewed. It lasts longer than any host waits for another (share_turn.c): one that ends too
 * early costs a conversion, and one that was left by a host that crashed delays no answer, since addresses
 * are answered by fragments and a host that has no fragment waits no longer than for the store.
 *
 * Between the look for a conversion and the lease that is then taken, another host may publish the conversion
 * and delete its lease. So who has taken one looks for the conversion once more before it converts.
 *
 * Pure: all functions are, so that a simulation can use them.
 */
#ifndef STORE_CLIENT_LEASE_H
#define STORE_CLIENT_LEASE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How long a conversion is not begun because the store may have it, ms. Not less for a conversion that takes
 * less: small files would be converted by every host, and most waits are a round trip (docs/fleet.md).
 */
enum { LEASE_HEDGE_MS = 250 };

/* How long a lease is held, seconds: ten times the predicted conversion, 10 to 3600. */
unsigned lease_seconds(unsigned predicted_ms);

/* What a host does that wants a conversion which the store does not have. */
enum lease_step {
	LEASE_TAKE,      /* make the lease, if absent */
	LEASE_CONVERT,   /* it is ours, or there are no leases: convert */
	LEASE_LOOK,      /* look for the conversion, and then at the lease, after lease.wait_ms */
	LEASE_TAKE_OVER, /* replace the lease, if it still has lease.etag */
};

/* A wait for another host. Zero-initialise. */
struct lease {
	enum lease_step step;
	unsigned first_ms; /* the first of these waits, before it is spread */
	unsigned wait_ms;  /* with LEASE_LOOK: from now */
	unsigned seconds;  /* that it lasts, whoever has it */
	char etag[128];    /* of the other's */
	bool held;         /* ours */
	uint32_t seed;     /* of the caller, before it begins: differs between hosts, so that waits do */
};

/* Begins: @has_leases as of struct store_abilities. Keeps lease->seed. */
void lease_begin(struct lease *lease, bool has_leases, unsigned predicted_ms);

/*
 * The answer to LEASE_TAKE and LEASE_TAKE_OVER: @err as of struct store_reply. Another host was first:
 * LEASE_LOOK; any failure means LEASE_CONVERT.
 */
void lease_note_put(struct lease *lease, int err);

/*
 * The answer to LEASE_LOOK, when the conversion was not there: the lease as HEAD shows it.
 *
 * @err:      0, -ENOENT if it is gone: LEASE_TAKE; any other: LEASE_CONVERT
 * @now, @modified: of struct store_reply
 */
void lease_note_head(struct lease *lease, int err, int64_t now, int64_t modified, const char *etag);

/* Wall time that converting a file of @bytes is predicted to take on @threads, ms. */
unsigned predict_conversion_ms(uint64_t bytes, unsigned threads);

#endif
