/*
 * metrics.h - what the daemon has done since the mount, counted.
 *
 * Counters only grow, are added to by any thread without a lock, and are read by the file metrics
 * (fs/tree/metrics_file.c).
 */
#ifndef FS_SYS_METRICS_H
#define FS_SYS_METRICS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Answers to names of addresses and symbols, and to addresses in logs. */
enum lookup_result { LOOKUP_FOUND, LOOKUP_UNKNOWN, LOOKUP_ERROR, LOOKUP_RESULTS };

enum conversion_result {
	CONVERSION_OK,
	CONVERSION_FAILED,
	CONVERSION_CRASHED,
	CONVERSION_LIMIT,
	CONVERSION_REPLACED, /* the object file was another one by then */
	CONVERSION_RESULTS,
};

/* What the cache had when an image was opened. */
enum cache_result { CACHE_HIT, CACHE_MISS, CACHE_FAILURE, CACHE_RESULTS };

/* How a conversion of an idle host ended. */
enum idle_result { IDLE_CONVERTED, IDLE_GIVEN_UP, IDLE_RESULTS };

/* A partial scan looks at what events named. */
enum scan_result { SCAN_COMPLETE, SCAN_INCOMPLETE, SCAN_PARTIAL, SCAN_RESULTS };

enum { CONVERSION_BUCKETS = 7 };

struct metrics {
	_Atomic uint64_t lookups[LOOKUP_RESULTS];
	_Atomic uint64_t batch_addresses;
	_Atomic uint64_t log_addresses[LOOKUP_RESULTS];
	_Atomic uint64_t conversions[CONVERSION_RESULTS];
	_Atomic uint64_t conversion_times[CONVERSION_BUCKETS +
					  1]; /* by the first bound that is not below; else the last */
	_Atomic uint64_t conversion_ms;
	_Atomic uint64_t cache[CACHE_RESULTS];
	_Atomic uint64_t idle[IDLE_RESULTS];
	_Atomic uint64_t scans[SCAN_RESULTS];
	_Atomic uint64_t scan_ms, scanned_files;
};

/* Upper bounds of the buckets, in seconds, ascending. */
static const double conversion_bounds[CONVERSION_BUCKETS] = {0.01, 0.1, 1, 10, 60, 300, 1800};

static inline void metric_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* A conversion ended after @seconds. */
static inline void metrics_add_conversion(struct metrics *metrics, enum conversion_result result,
					  double seconds)
{
	size_t i = 0;
	while (i < CONVERSION_BUCKETS && seconds > conversion_bounds[i])
		i++;
	metric_add(&metrics->conversion_times[i], 1);
	metric_add(&metrics->conversion_ms, (uint64_t)(seconds * 1000));
	metric_add(&metrics->conversions[result], 1); /* last: who sees it finds the others */
}

#endif
