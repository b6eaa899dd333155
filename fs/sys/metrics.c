#include "fs/sys/metrics.h"

#include <stddef.h>

const double conversion_bounds[CONVERSION_BUCKETS] = {0.01, 0.1, 1, 10, 60, 300, 1800};

void metrics_add_conversion(struct metrics *metrics, enum conversion_result result, double seconds)
{
	size_t i = 0;
	while (i < CONVERSION_BUCKETS && seconds > conversion_bounds[i])
		i++;
	metric_add(&metrics->conversion_times[i], 1);
	metric_add(&metrics->conversion_ms, (uint64_t)(seconds * 1000));
	metric_add(&metrics->conversions[result], 1); /* last: who sees it finds the others */
}
