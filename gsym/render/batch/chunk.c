/*
 * The addresses are sorted, so that those of one function are adjacent: each record is read once, in the
 * order of the file, and only up to the last address asked for. Then a query needs neither search nor
 * lookup of its own: its place says where in the source it is. Functions that are asked again and again are
 * cut for good, and give places without their record.
 */
#include "gsym/render/batch/batch_cache.h"

#include "gsym/base/sort.h"
#include "gsym/read/lookup.h"
#include "gsym/render/batch/flat_function.h"

enum {
	INDEX_BITS = 18, /* of the number of a query in a key */
	OFFSET_BITS = 64 - INDEX_BITS,
	GROUPS = 32, /* from one question for the time to the next; each step is done for all of them */
	EXPECTED_LINES = 4, /* of a function that are prefetched */
	CUT_BYTES = 16,     /* that a byte of a record takes when it is cut, at most */
	CUT_PRICE = 8,      /* bytes of a record that are cut in the time of an answer from it */
	PASSES = 3,         /* over a record, after which it is cut for good */
};

static_assert(CHUNK_MOST == 1 << INDEX_BITS, "a key holds the number of a query");

/* The queries of one function of known size. */
struct record_group {
	uint32_t index;
	uint64_t start;       /* of the function, from the base address */
	const uint64_t *keys; /* ascending */
	size_t n;
};

static uint64_t key_off(uint64_t key)
{
	return key >> INDEX_BITS;
}

static struct place *key_place(struct batch_cache *cache, uint64_t key)
{
	return &cache->chunk.places.v[key & ((1U << INDEX_BITS) - 1)];
}

int chunk_begin(struct batch_cache *cache, const struct batch_query *queries, size_t n)
{
	struct chunk *chunk = &cache->chunk;
	uint64_t base = cache->reader->info.base_address;
	invariant(n <= CHUNK_MOST);
	batch_cache_end_chunk(cache);
	if (!batch_cache_has_order(cache))
		return 0;
	if (vec_reserve(&chunk->keys, 2 * n) || vec_reserve(&chunk->places, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (queries[i].kind == BATCH_ADDRESS && queries[i].addr >= base &&
		    !((queries[i].addr - base) >> OFFSET_BITS))
			chunk->keys.v[chunk->keys.n++] = (queries[i].addr - base) << INDEX_BITS | i;
	sort_u64(chunk->keys.v, chunk->keys.v + chunk->keys.n, chunk->keys.n, INDEX_BITS);
	memset(chunk->places.v, 0, n * sizeof(*chunk->places.v));
	chunk->places.n = n;
	return 0;
}

/* How many of the @n > 0 keys belong to the function before @count: one, at least. */
static size_t group_size(const struct gsym_reader *reader, size_t count, const uint64_t *keys, size_t n)
{
	size_t i = 1;
	uint64_t next = count < reader->info.num_addresses ? reader_addr_off(reader, count) : UINT64_MAX;
	while (i < n && key_off(keys[i]) < next)
		i++;
	return i;
}

/* ---- Names ---- */

static void render_pending(struct batch_cache *cache, const struct render_options *options)
{
	batch_cache_render_names(cache, options, cache->chunk.pending, cache->chunk.n_pending);
	cache->chunk.n_pending = 0;
}

static void want_name(struct batch_cache *cache, const struct render_options *options, struct flat_node *node)
{
	struct chunk *chunk = &cache->chunk;
	if (node->text)
		return;
	chunk->pending[chunk->n_pending++] = node;
	if (chunk->n_pending == PENDING_NAMES)
		render_pending(cache, options);
}

/* ---- Functions cut for good ---- */

/* The last interval at or before @off, from number @from on. */
static size_t interval_at(const struct flat_function *flat, size_t from, uint32_t off)
{
	const uint32_t *at = flat->offs + from;
	for (size_t n = flat->n - from, half; n > 1; n -= half) {
		half = n / 2;
		at += at[half] <= off ? half : 0;
	}
	return (size_t)(at - flat->offs);
}

static void place_in_flat(struct batch_cache *cache, const struct render_options *options,
			  const struct record_group *group, const struct flat_function *flat)
{
	struct flat_calls *calls = flat_calls(flat);
	arena_ref ref = batch_cache_ref(cache, calls);
	size_t at = 0;
	for (size_t i = 0; flat->n && i < group->n; i++) {
		uint32_t off = (uint32_t)(key_off(group->keys[i]) - group->start);
		at = interval_at(flat, at, off);
		packed_location location = flat_locations(flat)[at];
		*key_place(cache, group->keys[i]) = (struct place){location, ref, off};
		if (location_node(location) == LOCATION_DAMAGED)
			continue;
		for (uint32_t node = location_node(location); node; node = calls->nodes[node].parent)
			want_name(cache, options, &calls->nodes[node]);
		want_name(cache, options, &calls->nodes[0]);
	}
}

/* ---- Others ---- */

/* Distinct offsets of the group's queries, ascending, into the list that intervals_at() takes. */
static int list_offsets(struct batch_cache *cache, const struct record_group *group)
{
	struct offset_list *list = &cache->intervals.edges;
	list->n = 0;
	if (vec_reserve(list, group->n))
		return -ENOMEM;
	for (size_t i = 0; i < group->n; i++)
		if (!i || key_off(group->keys[i]) != key_off(group->keys[i - 1]))
			list->v[list->n++] = (uint32_t)(key_off(group->keys[i]) - group->start);
	return 0;
}

/* Places of the group from the intervals, one for each distinct offset. */
static void place_in_calls(struct batch_cache *cache, const struct render_options *options,
			   const struct record_group *group, struct flat_calls *calls)
{
	arena_ref ref = batch_cache_ref(cache, calls);
	const struct interval *v = cache->intervals.v.v;
	packed_location location;
	for (size_t i = 0, at = 0; i < group->n; i++) {
		uint32_t off = (uint32_t)(key_off(group->keys[i]) - group->start);
		at += v[at].off != off;
		invariant(at < cache->intervals.v.n && v[at].off == off);
		if (location_pack(&v[at], &location))
			*key_place(cache, group->keys[i]) = (struct place){location, ref, off};
	}
	for (size_t i = 0; i < calls->n; i++)
		want_name(cache, options, &calls->nodes[i]);
}

/* Reads the record up to the last query's offset. 0, -ENOMEM or -E2BIG. */
static int read_once(struct batch_cache *cache, const struct render_options *options,
		     const struct record_group *group, const struct function_info *record, uint32_t n_merged)
{
	struct interval_set *s = &cache->intervals;
	struct flat_calls *calls;
	int err = list_offsets(cache, group);
	if (!err)
		err = intervals_at(s, record, &cache->reader->tables);
	if (err)
		return err;
	calls = batch_cache_alloc(cache, PART_CHUNK, flat_calls_size(s->nodes.n));
	if (!calls)
		return -ENOMEM;
	*calls = (struct flat_calls){group->start, n_merged, (uint32_t)s->nodes.n};
	if (!flat_calls_set(calls, s, record))
		return -E2BIG;
	place_in_calls(cache, options, group, calls);
	flat_function_free_scratch(cache);
	return 0;
}

/* Whether to cut the function for good rather than to read its record for the group alone. */
static bool pays_to_cut(const struct batch_cache *cache, size_t slot, const struct record_group *group,
			const struct function_info *record)
{
	size_t cost = intervals_cost(record);
	if (cost > CUT_COST_MAX || cost > batch_cache_room(cache, PART_FUNCTIONS) / CUT_BYTES)
		return false;
	return cache->passes[slot] >= PASSES || group->n > cost / CUT_PRICE;
}

/* 0, -ENOMEM or -E2BIG. Damaged records give no places. */
static int read_function(struct batch_cache *cache, const struct render_options *options,
			 const struct record_group *group)
{
	size_t slot = group->index & (cache->n_flat - 1);
	struct function_info record;
	struct flat_function *flat;
	struct cursor merged;
	uint32_t n_merged;
	int err;
	if (reader_parse_record(cache->reader, group->index, &record, NULL) ||
	    lookup_count_merged(&record, &merged, &n_merged, NULL))
		return 0;
	if (pays_to_cut(cache, slot, group, &record)) {
		err = flat_function_make(cache, group->index, &record, n_merged, &flat);
		if (!err) {
			cache->flat[slot] = batch_cache_ref(cache, flat);
			place_in_flat(cache, options, group, flat);
		}
	} else {
		err = read_once(cache, options, group, &record, n_merged);
	}
	cache->passes[slot] = err == -E2BIG ? 0 : cache->passes[slot] + (cache->passes[slot] < PASSES);
	return err == -E2BIG ? 0 : err;
}

/* Finds the places of @whole, of which the last may lie past the end of the function. 0 or -ENOMEM. */
static int find_places(struct batch_cache *cache, const struct render_options *options,
		       const struct record_group *whole)
{
	uint32_t index = whole->index;
	if (cache->flat[index & (cache->n_flat - 1)] == FLAT_NEVER)
		return 0;
	const struct flat_function *flat = flat_function_find(cache, index);
	uint32_t size = flat ? flat->size : reader_func_size(cache->reader, index);
	if (!(flat ? flat->alone : flat_function_is_alone(cache->reader, index, size)))
		return 0;
	struct record_group group = *whole;
	while (group.n && key_off(group.keys[group.n - 1]) - group.start >= size)
		group.n--;
	if (!group.n)
		return 0;
	if (!flat || flat->exact)
		return read_function(cache, options, &group);
	place_in_flat(cache, options, &group, flat);
	return 0;
}

/* Groups of the next keys. Keys before the first function have none. */
static size_t next_groups(struct batch_cache *cache, struct record_group groups[GROUPS])
{
	const struct gsym_reader *reader = cache->reader;
	struct chunk *chunk = &cache->chunk;
	size_t n = 0;
	while (n < GROUPS && chunk->done < chunk->keys.n) {
		const uint64_t *keys = chunk->keys.v + chunk->done;
		size_t count = start_index_count(&cache->starts, reader, key_off(*keys)),
		       size = group_size(reader, count, keys, chunk->keys.n - chunk->done);
		chunk->done += size;
		if (!count)
			continue;
		groups[n++] = (struct record_group){(uint32_t)(count - 1), reader_addr_off(reader, count - 1),
						    keys, size};
		__builtin_prefetch(&cache->flat[(count - 1) & (cache->n_flat - 1)]);
		__builtin_prefetch(reader_record_offset(reader, count - 1));
	}
	return n;
}

/*
 * Prefetches the functions as they are in the cache, or their records, of which the first byte is touched: a
 * prefetch is dropped on a TLB miss.
 */
static void expect_functions(const struct batch_cache *cache, const struct record_group *groups, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		arena_ref ref = cache->flat[groups[i].index & (cache->n_flat - 1)];
		struct cursor record = reader_record(cache->reader, groups[i].index);
		const char *at = ref > FLAT_NEVER ? cache->arena + ref : (const char *)record.pos;
		if (ref <= FLAT_NEVER && !cursor_left(&record))
			continue;
		(void)*(const volatile char *)at;
		for (size_t line = 1; line < EXPECTED_LINES; line++)
			__builtin_prefetch(at + line * CACHE_LINE);
	}
}

void chunk_find(struct batch_cache *cache, const struct render_options *options,
		bool (*stop)(const void *user), const void *user)
{
	struct chunk *chunk = &cache->chunk;
	struct record_group groups[GROUPS];
	bool stopped = false;
	while (chunk->done < chunk->keys.n && !stopped) {
		size_t n = next_groups(cache, groups);
		expect_functions(cache, groups, n);
		for (size_t i = 0; i < n; i++)
			if (find_places(cache, options, &groups[i])) { /* no room for more */
				chunk->done = chunk->keys.n;
				break;
			}
		stopped = stop && stop(user);
	}
	render_pending(cache, options);
}
