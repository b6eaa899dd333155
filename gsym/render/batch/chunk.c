/*
 * The addresses are sorted, so that those of one function are adjacent: each record is read once, in the
 * order of the file, and only up to the last address asked for.
 */
#include "gsym/render/batch/chunk.h"

#include "gsym/base/sort.h"
#include "gsym/render/batch/flat_function.h"

enum {
	CHUNK_ROOM = 16 << 20,  /* bytes; with less, functions of earlier chunks are dropped */
	FUNCTIONS_AT_ONCE = 64, /* from one question for the time to the next */
};

/* The queries' offsets from the base address, sorted. 0 or -ENOMEM. */
static int sort_offsets(struct batch_cache *cache, const struct batch_query *queries, size_t n)
{
	uint64_t base = cache->reader->info.base_address;
	cache->offs.n = 0;
	if (vec_reserve(&cache->offs, 2 * n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (queries[i].kind == BATCH_ADDRESS && queries[i].addr >= base)
			cache->offs.v[cache->offs.n++] = queries[i].addr - base;
	sort_u64(cache->offs.v, cache->offs.v + cache->offs.n, cache->offs.n);
	return 0;
}

/* How many of the @n > 0 offsets belong to the function before @count: one, at least. */
static size_t group_size(const struct gsym_reader *reader, size_t count, const uint64_t *offs, size_t n)
{
	size_t i = 1;
	uint64_t next = count < reader->info.num_addresses ? reader_addr_off(reader, count) : UINT64_MAX;
	while (i < n && offs[i] < next)
		i++;
	return i;
}

void chunk_flatten(struct batch_cache *cache, const struct batch_query *queries, size_t n,
		   bool (*stop)(const void *user), const void *user)
{
	const struct gsym_reader *reader = cache->reader;
	int err = sort_offsets(cache, queries, n);
	size_t functions = 0;
	if (batch_cache_room(cache, PART_CHUNK) < CHUNK_ROOM)
		batch_cache_end_chunk(cache);
	for (size_t at = 0, size; !err && at < cache->offs.n; at += size) {
		const uint64_t *offs = cache->offs.v + at;
		size_t count = start_index_count(&cache->starts, reader, *offs);
		size = group_size(reader, count, offs, cache->offs.n - at);
		if (count)
			err = flat_function_expect(cache, (uint32_t)(count - 1), offs, size);
		if (stop && ++functions % FUNCTIONS_AT_ONCE == 0 && stop(user))
			return;
	}
}
