/*
 * metrics.h - what the daemon has done since the mount, counted.
 *
 * Counters only grow, are added to by any thread without a lock, and are read by the file metrics
 * (fs/tree/metrics_file.c).
 */
#ifndef FS_SYS_METRICS_H
#define FS_SYS_METRICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Answers to names of addresses and symbols, and to addresses in logs. */
enum lookup_result { LOOKUP_FOUND, LOOKUP_UNKNOWN, LOOKUP_ERROR, LOOKUP_RESULTS };

/* Names what answered an address or a symbol: what the call waited for last. */
enum lookup_tier {
	TIER_CACHE,      /* the open image, or its file in the cache */
	TIER_FRAGMENT,   /* what is around the address, converted before the whole */
	TIER_CONVERSION, /* the image, which was converted for it */
	LOOKUP_TIERS,
};

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

enum { CONVERSION_BUCKETS = 7, LOOKUP_BUCKETS = 7 };

struct metrics {
	_Atomic uint64_t lookups[LOOKUP_RESULTS];
	/* Each counts those up to its bound, the last one the rest. */
	_Atomic uint64_t lookup_times[LOOKUP_TIERS][LOOKUP_BUCKETS + 1];
	_Atomic uint64_t lookup_us[LOOKUP_TIERS];
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
	_Atomic int64_t scan_completed; /* when the last complete one ended: seconds, 0: none has */
	atomic_bool source_emptied;     /* it found no image, and one before did */
};

/* Upper bounds of the buckets, in seconds, ascending. */
static const double conversion_bounds[CONVERSION_BUCKETS] = {0.01, 0.1, 1, 10, 60, 300, 1800};
static const double lookup_bounds[LOOKUP_BUCKETS] = {0.0001, 0.001, 0.01, 0.1, 1, 10, 100};

static inline void metric_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* The first of @n @bounds that is not below @seconds, or @n. */
static inline size_t metrics_bucket(double seconds, const double *bounds, size_t n)
{
	size_t i = 0;
	while (i < n && seconds > bounds[i])
		i++;
	return i;
}

/* A lookup was answered after @us microseconds. */
static inline void metrics_add_lookup(struct metrics *metrics, enum lookup_tier tier, int64_t us)
{
	size_t i = metrics_bucket((double)us / 1e6, lookup_bounds, LOOKUP_BUCKETS);
	metric_add(&metrics->lookup_times[tier][i], 1);
	metric_add(&metrics->lookup_us[tier], (uint64_t)us);
}

/* A conversion ended after @seconds. */
static inline void metrics_add_conversion(struct metrics *metrics, enum conversion_result result,
					  double seconds)
{
	size_t i = metrics_bucket(seconds, conversion_bounds, CONVERSION_BUCKETS);
	metric_add(&metrics->conversion_times[i], 1);
	metric_add(&metrics->conversion_ms, (uint64_t)(seconds * 1000));
	metric_add(&metrics->conversions[result], 1); /* last: who sees it finds the others */
}

#endif
