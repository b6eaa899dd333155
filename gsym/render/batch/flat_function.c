#include "gsym/render/batch/flat_function.h"

#include "gsym/base/invariant.h"
#include "gsym/read/lookup.h"
#include "gsym/read/reader.h"

enum {
	CHEAP = 4096,           /* bytes of a record that is flattened at about the cost of a lookup */
	MANY = 64,              /* queries at once that make flattening pay for functions not seen before */
	SCRATCH_KEPT = 1 << 20, /* bytes; what a larger function needed is given back */
	CUT_BYTES = 16,         /* that a byte of a record takes when it is cut, at most */
	CUT_PRICE = 8,          /* bytes of a record that are cut in the time of an answer from it */
	PASSES = 3,             /* over a record, as costly as to cut it */
};

void flat_function_forget_texts(struct batch_cache *cache, struct flat_function *flat)
{
	struct flat_node *nodes = flat_nodes(flat);
	for (size_t i = 0; i < flat->n_nodes; i++)
		nodes[i].text = 0;
	flat->generation = cache->generation;
}

/*
 * Whether an address in it can only be that of function @index: no other starts at the same address, and
 * its size is known.
 */
static bool is_alone(const struct gsym_reader *reader, uint32_t index, uint32_t size)
{
	uint64_t start = reader_addr_off(reader, index);
	uint32_t n = reader->info.num_addresses;
	return size && (!index || reader_addr_off(reader, index - 1) != start) &&
	       (index + 1 == n || reader_addr_off(reader, index + 1) != start);
}

static struct flat_function *new_flat(struct batch_cache *cache, enum cache_part part, uint32_t index,
				      const struct function_info *record, size_t n, size_t n_nodes)
{
	struct flat_function *flat;
	flat = batch_cache_alloc(cache, part,
				 sizeof(*flat) + flat_offs_size(n) + n * sizeof(packed_location) +
					 n_nodes * sizeof(struct flat_node));
	if (!flat)
		return NULL;
	*flat = (struct flat_function){
		.start = reader_addr_off(cache->reader, index),
		.index = index,
		.size = record->size,
		.n = (uint32_t)n,
		.n_nodes = (uint32_t)n_nodes,
		.generation = cache->generation,
		.alone = is_alone(cache->reader, index, record->size),
	};
	return flat;
}

/* A function whose record is damaged: every lookup is -EBADMSG. */
static struct flat_function *damaged_flat(struct batch_cache *cache, enum cache_part part, uint32_t index,
					  const struct function_info *record)
{
	return new_flat(cache, part, index, record, 0, 0);
}

/* Sets intervals: false when a value does not fit a packed_location. */
static bool set_locations(struct flat_function *flat, const struct interval_set *s)
{
	packed_location *locations = flat_locations(flat);
	for (size_t i = 0; i < s->v.n; i++) {
		const struct interval *interval = &s->v.v[i];
		bool damaged = interval->node == INTERVAL_DAMAGED;
		if (interval->file >> LOCATION_FILE_BITS || interval->line >> LOCATION_LINE_BITS ||
		    (interval->node >= LOCATION_DAMAGED && !damaged))
			return false;
		invariant(!i || flat->offs[i - 1] < interval->off); /* flat_function_has() searches them */
		flat->offs[i] = interval->off;
		locations[i] = ((uint64_t)interval->file << LOCATION_LINE_BITS | interval->line)
				       << LOCATION_NODE_BITS |
			       (damaged ? LOCATION_DAMAGED : interval->node);
	}
	return true;
}

static bool set_nodes(struct flat_function *flat, const struct interval_set *s, uint64_t name)
{
	struct flat_node *nodes = flat_nodes(flat);
	for (size_t i = 0; i < s->nodes.n; i++) {
		const struct interval_node *node = &s->nodes.v[i];
		if (node->name > UINT32_MAX || node->first > UINT32_MAX)
			return false;
		nodes[i] = (struct flat_node){
			.name = (uint32_t)node->name,
			.first = (uint32_t)node->first,
			.call_file = node->call_file,
			.call_line = node->call_line,
			.parent = node->parent,
		};
	}
	nodes[0].name = (uint32_t)name;
	return name <= UINT32_MAX;
}

/* 0, -ENOMEM or -E2BIG. */
static int flat_from_intervals(struct batch_cache *cache, enum cache_part part, uint32_t index,
			       const struct function_info *record, struct flat_function **ret)
{
	const struct interval_set *s = &cache->intervals;
	struct flat_function *flat = s->v.n ? new_flat(cache, part, index, record, s->v.n, s->nodes.n) : NULL;
	if (!flat)
		return -ENOMEM;
	flat->made_of_many = lookup_is_made_of_many(gsym_reader_string(cache->reader, record->name));
	*ret = flat;
	return set_locations(flat, s) && set_nodes(flat, s, record->name) ? 0 : -E2BIG;
}

/* Offsets of queries within function @index, as many as one pass takes. That another may answer for some does
 * not matter. */
static int gather(struct batch_cache *cache, uint32_t index, uint32_t size, struct flat_queries queries)
{
	struct offset_list *offsets = &cache->intervals.edges;
	uint64_t start = gsym_reader_address(cache->reader, index);
	offsets->n = 0;
	for (size_t i = 0; i < queries.n && offsets->n < INTERVALS_AT_MAX; i++) {
		uint64_t in = queries.v[i].addr - start;
		if (queries.v[i].kind == BATCH_ADDRESS && in <= UINT32_MAX && (!size || in < size) &&
		    vec_push(offsets, (uint32_t)in))
			return -ENOMEM;
	}
	return 0;
}

static int cut_here(struct batch_cache *cache, uint32_t index, const struct function_info *record,
		    struct flat_queries queries)
{
	int err = gather(cache, index, record->size, queries);
	return err ? err : intervals_at(&cache->intervals, record, &cache->reader->tables);
}

static void free_scratch(struct batch_cache *cache)
{
	if (cache->intervals.v.cap * sizeof(*cache->intervals.v.v) > SCRATCH_KEPT ||
	    cache->intervals.points.cap * sizeof(*cache->intervals.points.v) > SCRATCH_KEPT)
		intervals_deinit(&cache->intervals);
}

static int cut(struct batch_cache *cache, uint32_t index, const struct function_info *record,
	       struct flat_queries queries, struct flat_function **ret)
{
	uint32_t last = record->size ? record->size - 1 : UINT32_MAX;
	int err = intervals_cut(&cache->intervals, record, &cache->reader->tables, last);
	bool exact = err == -E2BIG;
	if (exact)
		err = cut_here(cache, index, record, queries);
	if (!err)
		err = flat_from_intervals(cache, PART_FUNCTIONS, index, record, ret);
	if (!err)
		(*ret)->exact = exact;
	free_scratch(cache);
	return err;
}

/* 0, -ENOMEM, or -E2BIG when the function cannot be flattened. */
static int make_flat(struct batch_cache *cache, uint32_t index, const struct function_info *record,
		     struct flat_queries queries, struct flat_function **ret)
{
	uint32_t n_merged;
	struct cursor merged;
	if (lookup_count_merged(record, &merged, &n_merged, NULL)) {
		*ret = damaged_flat(cache, PART_FUNCTIONS, index, record);
		return *ret ? 0 : -ENOMEM;
	}
	int err = cut(cache, index, record, queries, ret);
	if (!err)
		(*ret)->n_merged = n_merged;
	return err;
}

static bool has_first(const struct batch_cache *cache, const struct flat_function *flat, uint32_t index,
		      const struct batch_query *query)
{
	return !flat->exact ||
	       flat_function_has(flat, (uint32_t)(query->addr - gsym_reader_address(cache->reader, index)));
}

/* Flattens the function and stores it in @slot; NULL on failure. */
static struct flat_function *build_for(struct batch_cache *cache, uint32_t index, arena_ref *slot,
				       struct flat_queries queries)
{
	struct function_info record = {0};
	struct flat_function *flat = NULL;
	int err = 0;
	if (reader_parse_record(cache->reader, index, &record, NULL))
		flat = damaged_flat(cache, PART_FUNCTIONS, index,
				    &(struct function_info){.size = reader_func_size(cache->reader, index)});
	else if (*slot == FLAT_NONE && intervals_cost(&record) > CHEAP)
		err = -EAGAIN;
	else
		err = make_flat(cache, index, &record, queries, &flat);
	*slot = err == -E2BIG ? FLAT_NEVER : err || !flat ? FLAT_SEEN : batch_cache_ref(cache, flat);
	return err ? NULL : flat;
}

struct flat_function *flat_function_get(struct batch_cache *cache, uint32_t index,
					struct flat_queries queries)
{
	arena_ref *slot = &cache->flat[index & (cache->n_flat - 1)];
	struct flat_function *flat = flat_function_find(cache, index);
	if (flat && has_first(cache, flat, index, &queries.v[0]))
		return flat;
	if (batch_cache_is_full(cache) || *slot == FLAT_NEVER)
		return NULL;
	if (!flat && *slot > FLAT_NEVER) /* evict another function: this one was not seen */
		*slot = FLAT_NONE;
	if (*slot == FLAT_NONE && queries.n < MANY) {
		*slot = FLAT_SEEN;
		return NULL;
	}
	return build_for(cache, index, slot, queries);
}

/* ---- For the queries of a chunk ---- */

/* Distinct offsets of queries within the function, ascending, into the list that intervals_at() takes. */
static int list_offsets(struct batch_cache *cache, uint64_t start, uint32_t size, const uint64_t *offs,
			size_t n)
{
	struct offset_list *list = &cache->intervals.edges;
	list->n = 0;
	if (vec_reserve(list, n))
		return -ENOMEM;
	for (size_t i = 0; i < n && offs[i] - start < size; i++)
		if (!i || offs[i] != offs[i - 1])
			list->v[list->n++] = (uint32_t)(offs[i] - start);
	return 0;
}

static bool has_all(const struct flat_function *flat, const struct offset_list *list)
{
	size_t at = 0;
	for (size_t i = 0; i < list->n; i++) {
		while (at < flat->n && flat->offs[at] < list->v[i])
			at++;
		if (at == flat->n || flat->offs[at] != list->v[i])
			return false;
	}
	return true;
}

/* Whether to cut the function for good rather than to read its record for the listed offsets alone. */
static bool pays_to_cut(const struct batch_cache *cache, size_t slot, const struct function_info *record)
{
	size_t cost = intervals_cost(record);
	if (cost > CUT_COST_MAX || cost > batch_cache_room(cache, PART_FUNCTIONS) / CUT_BYTES)
		return false;
	return cache->passes[slot] >= PASSES || cache->intervals.edges.n > cost / CUT_PRICE;
}

/* 0, -ENOMEM or -E2BIG. */
static int flatten_listed(struct batch_cache *cache, uint32_t index, const struct function_info *record,
			  struct flat_function **ret)
{
	int err = intervals_at(&cache->intervals, record, &cache->reader->tables);
	if (!err)
		err = flat_from_intervals(cache, PART_CHUNK, index, record, ret);
	if (!err)
		(*ret)->exact = true;
	free_scratch(cache);
	return err;
}

/* Likewise, for good. */
static int flatten_whole(struct batch_cache *cache, uint32_t index, const struct function_info *record,
			 struct flat_function **ret)
{
	int err = intervals_cut(&cache->intervals, record, &cache->reader->tables, record->size - 1);
	if (!err)
		err = flat_from_intervals(cache, PART_FUNCTIONS, index, record, ret);
	free_scratch(cache);
	return err;
}

/* The function of known size, for the listed offsets at least. 0, -ENOMEM or -E2BIG. */
static int flatten_for_chunk(struct batch_cache *cache, uint32_t index, struct flat_function **ret)
{
	size_t slot = index & (cache->n_flat - 1);
	struct function_info record = {0};
	struct cursor merged;
	uint32_t n_merged;
	if (reader_parse_record(cache->reader, index, &record, NULL) ||
	    lookup_count_merged(&record, &merged, &n_merged, NULL)) {
		record.size = reader_func_size(cache->reader, index);
		*ret = damaged_flat(cache, PART_CHUNK, index, &record);
		return *ret ? 0 : -ENOMEM;
	}
	bool whole = pays_to_cut(cache, slot, &record);
	int err = whole ? flatten_whole(cache, index, &record, ret)
			: flatten_listed(cache, index, &record, ret);
	if (!err)
		(*ret)->n_merged = n_merged;
	cache->passes[slot] = err == -E2BIG ? 0 : cache->passes[slot] + (cache->passes[slot] < PASSES);
	return err;
}

int flat_function_expect(struct batch_cache *cache, uint32_t index, const uint64_t *offs, size_t n)
{
	arena_ref *slot = &cache->flat[index & (cache->n_flat - 1)];
	struct flat_function *flat = flat_function_find(cache, index);
	if ((flat && !flat->exact) || *slot == FLAT_NEVER)
		return 0;
	uint32_t size = reader_func_size(cache->reader, index);
	if (!is_alone(cache->reader, index, size))
		return 0;
	int err = list_offsets(cache, reader_addr_off(cache->reader, index), size, offs, n);
	if (err || !cache->intervals.edges.n || (flat && has_all(flat, &cache->intervals.edges)))
		return err;
	err = flatten_for_chunk(cache, index, &flat);
	if (!err)
		*slot = batch_cache_ref(cache, flat);
	return err == -E2BIG ? 0 : err;
}
