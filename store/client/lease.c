#include "store/client/lease.h"

#include <errno.h>
#include <stdio.h>

enum {
	SECONDS_MIN = 10,
	SECONDS_MAX = 3600,
	SECONDS_FACTOR = 10,    /* of the predicted conversion: it may be slow, and has to be given */
	FIRST_WAIT_MIN_MS = 30, /* a conversion that took less is there, and given, by then */
	FIRST_WAIT_MAX_MS = 250,
	LOOKS = 12,      /* a lease is looked at about so often in its time, once waits have grown */
	PROCESS_MS = 10, /* to start a worker, and to open its file */
	/*
	 * Bytes of a file that a thread converts in a millisecond. Measured in release builds: a debug file
	 * of Debian with compressed sections, 11 MB, at 125 MB a second; 5 GB of C++ not compressed at 417
	 * (docs/bench.md); a kernel's 590 MB, of which much is not read, at 1,700. The least of these, less
	 * something for slower processors: a prediction that is too long costs nothing, while a lease that
	 * ends too early costs a conversion.
	 */
	BYTES_EACH_MS = 100000,
	THREADS_MAX = 16, /* units of a file are converted in parallel, but merged by one thread */
};

static unsigned within(uint64_t value, unsigned least, unsigned most)
{
	return value < least ? least : value > most ? most : (unsigned)value;
}

unsigned lease_seconds(unsigned predicted_ms)
{
	return within(((uint64_t)predicted_ms * SECONDS_FACTOR + 999) / 1000, SECONDS_MIN, SECONDS_MAX);
}

unsigned predict_conversion_ms(uint64_t bytes, unsigned threads)
{
	uint64_t each = (uint64_t)BYTES_EACH_MS * within(threads, 1, THREADS_MAX);
	return within(bytes / each, 0, UINT32_MAX - PROCESS_MS) + PROCESS_MS;
}

void lease_begin(struct lease *lease, bool has_leases, unsigned predicted_ms)
{
	*lease = (struct lease){
		.step = has_leases ? LEASE_TAKE : LEASE_CONVERT,
		.seconds = lease_seconds(predicted_ms),
		.first_ms = within(predicted_ms, FIRST_WAIT_MIN_MS, FIRST_WAIT_MAX_MS),
		.seed = lease->seed,
	};
}

/* Between three and five quarters of @ms: hosts that begin together do not go on so. */
static unsigned spread(struct lease *lease, unsigned ms)
{
	lease->seed = lease->seed * 1664525 + 1013904223; /* the generator of Numerical Recipes */
	return (unsigned)((uint64_t)ms * (768 + (lease->seed >> 23)) / 1024);
}

static void convert(struct lease *lease, bool held)
{
	lease->step = LEASE_CONVERT;
	lease->held = held;
}

/* Begins to wait for another host, of whose lease nothing is known yet. */
static void look(struct lease *lease)
{
	lease->step = LEASE_LOOK;
	lease->held = false;
	lease->wait_ms = spread(lease, lease->first_ms);
}

void lease_note_put(struct lease *lease, int err)
{
	/* -ENOENT: what was to be taken over is gone, since its conversion is there */
	if (err == -EEXIST || err == -EAGAIN || err == -ENOENT)
		look(lease);
	else
		convert(lease, !err);
}

void lease_note_head(struct lease *lease, int err, int64_t now, int64_t modified, const char *etag)
{
	if (err == -ENOENT) {
		lease->step = LEASE_TAKE;
		return;
	}
	if (err || !*etag || now <= 0 || modified <= 0) {
		convert(lease, false);
		return;
	}
	/* Times are of whole seconds: it is over when the difference is more than its time. */
	if (now - modified > lease->seconds) {
		lease->step = LEASE_TAKE_OVER;
		snprintf(lease->etag, sizeof(lease->etag), "%s", etag);
		return;
	}
	unsigned most = lease->seconds * 1000 / LOOKS, next = lease->wait_ms + lease->wait_ms / 2;
	lease->wait_ms = spread(lease, next < most ? next : most);
}
