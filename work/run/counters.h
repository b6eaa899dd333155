/* counters.h - counters of debuginfod. Atomic: updated by any thread. */
#ifndef WORK_RUN_COUNTERS_H
#define WORK_RUN_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

/* Results of debuginfod requests. */
enum fetch_result { FETCH_FOUND, FETCH_MISSING, FETCH_FAILED, FETCH_RESULTS };

/* Zero-initialise. They only grow. */
struct run_counters {
	_Atomic uint64_t fetches[FETCH_RESULTS];
};

static inline void counter_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

#endif
