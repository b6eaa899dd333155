#include "gsym/read/start_index.h"

#include "gsym/base/invariant.h"

#include <errno.h>
#include <stdlib.h>

enum {
	BUCKETS_MAX = 1 << 21,
	SCAN_MAX = 4, /* entries compared linearly */
};

void start_index_deinit(struct start_index *starts)
{
	free(starts->before);
	*starts = (struct start_index){0};
}

/* Counts the functions in front of each bucket: false when they descend. */
static bool fill_buckets(struct start_index *starts, const struct gsym_reader *reader)
{
	size_t n = reader->info.num_addresses, bucket = 0;
	uint64_t last = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t off = reader_addr_off(reader, i);
		if (off < last || off >> starts->shift >= starts->n_buckets)
			return false;
		last = off;
		while (bucket <= off >> starts->shift)
			starts->before[bucket++] = (uint32_t)i;
	}
	while (bucket <= starts->n_buckets)
		starts->before[bucket++] = (uint32_t)n;
	return true;
}

bool reader_starts_ascend(const struct gsym_reader *reader)
{
	size_t n = reader->info.num_addresses;
	for (size_t i = 1; i < n; i++)
		if (reader_addr_off(reader, i) < reader_addr_off(reader, i - 1))
			return false;
	return true;
}

int start_index_build(struct start_index *starts, const struct gsym_reader *reader)
{
	size_t n = reader->info.num_addresses;
	start_index_deinit(starts);
	if (n < 2 * SCAN_MAX)
		return 0;
	uint64_t last = reader_addr_off(reader, n - 1);
	size_t most = 2 * n < BUCKETS_MAX ? 2 * n : BUCKETS_MAX;
	while (last >> starts->shift >= most)
		starts->shift++;
	starts->n_buckets = (size_t)(last >> starts->shift) + 1;
	starts->before = malloc((starts->n_buckets + 1) * sizeof(*starts->before));
	if (!starts->before) {
		start_index_deinit(starts);
		return -ENOMEM;
	}
	if (!fill_buckets(starts, reader))
		start_index_deinit(starts);
	return 0;
}

size_t start_index_count(const struct start_index *starts, const struct gsym_reader *reader, uint64_t off)
{
	size_t bucket = (size_t)(off >> starts->shift);
	if (!starts->before)
		return reader_count_starts(reader, off);
	if (off >> starts->shift >= starts->n_buckets)
		return reader->info.num_addresses;
	size_t low = starts->before[bucket], high = starts->before[bucket + 1];
	invariant(low <= high && high <= reader->info.num_addresses);
	while (high - low > SCAN_MAX) {
		size_t mid = low + (high - low) / 2;
		if (reader_addr_off(reader, mid) <= off)
			low = mid + 1;
		else
			high = mid;
	}
	/* Branchless: the comparisons are unpredictable. They ascend, so counting equals searching. */
	size_t last = reader->info.num_addresses - 1, n = low;
	for (size_t i = low; i < low + SCAN_MAX; i++)
		n += (size_t)((i < high) & (reader_addr_off(reader, i < last ? i : last) <= off));
	return n;
}
