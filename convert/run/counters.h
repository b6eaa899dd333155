/* counters.h - counters of the shared directory and of debuginfod. Atomic: updated by any thread. */
#ifndef CONVERT_RUN_COUNTERS_H
#define CONVERT_RUN_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

/* Lookups in the shared directory, and files published there. */
enum shared_result { SHARED_HIT, SHARED_MISS, SHARED_UNUSABLE, SHARED_GIVEN, SHARED_RESULTS };

/* Results of debuginfod requests. */
enum fetch_result { FETCH_FOUND, FETCH_MISSING, FETCH_FAILED, FETCH_RESULTS };

/* Zero-initialise. They only grow. */
struct run_counters {
	_Atomic uint64_t shared[SHARED_RESULTS];
	_Atomic uint64_t fetches[FETCH_RESULTS];
};

static inline void counter_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

#endif
