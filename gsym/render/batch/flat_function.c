#include "gsym/render/batch/flat_function.h"

#include "gsym/base/invariant.h"
#include "gsym/read/lookup.h"
#include "gsym/read/reader.h"

enum {
	CHEAP = 4096,           /* bytes of a record that is flattened at about the cost of a lookup */
	MANY = 64,              /* queries at once that make flattening pay for functions not seen before */
	SCRATCH_KEPT = 1 << 20, /* bytes; what a larger function needed is given back */
};

bool flat_function_is_alone(const struct gsym_reader *reader, uint32_t index, uint32_t size)
{
	uint64_t start = reader_addr_off(reader, index);
	uint32_t n = reader->info.num_addresses;
	return size && (!index || reader_addr_off(reader, index - 1) != start) &&
	       (index + 1 == n || reader_addr_off(reader, index + 1) != start);
}

static struct flat_function *new_flat(struct batch_cache *cache, uint32_t index, uint32_t size,
				      uint32_t n_merged, size_t n, size_t n_nodes)
{
	struct flat_function *flat;
	flat = batch_cache_alloc(cache, PART_FUNCTIONS,
				 sizeof(*flat) + flat_offs_size(n) + n * sizeof(packed_location) +
					 flat_calls_size(n_nodes));
	if (!flat)
		return NULL;
	*flat = (struct flat_function){
		.start = reader_addr_off(cache->reader, index),
		.index = index,
		.size = size,
		.n = (uint32_t)n,
		.alone = flat_function_is_alone(cache->reader, index, size),
	};
	*flat_calls(flat) = (struct flat_calls){flat->start, n_merged, (uint32_t)n_nodes};
	return flat;
}

/* A function whose record is damaged: every lookup is -EBADMSG. */
static struct flat_function *damaged_flat(struct batch_cache *cache, uint32_t index, uint32_t size)
{
	return new_flat(cache, index, size, 0, 0, 0);
}

bool location_pack(const struct interval *interval, packed_location *ret)
{
	bool damaged = interval->node == INTERVAL_DAMAGED;
	*ret = ((uint64_t)interval->file << LOCATION_LINE_BITS | interval->line) << LOCATION_NODE_BITS |
	       (damaged ? LOCATION_DAMAGED : interval->node);
	return !(interval->file >> LOCATION_FILE_BITS || interval->line >> LOCATION_LINE_BITS ||
		 (interval->node >= LOCATION_DAMAGED && !damaged));
}

/* Sets intervals: false when a value does not fit a packed_location. */
static bool set_locations(struct flat_function *flat, const struct interval_set *s)
{
	packed_location *locations = flat_locations(flat);
	for (size_t i = 0; i < s->v.n; i++) {
		flat->offs[i] = s->v.v[i].off;
		invariant(!i || flat->offs[i - 1] < flat->offs[i]); /* flat_function_has() searches them */
		if (!location_pack(&s->v.v[i], &locations[i]))
			return false;
	}
	return true;
}

bool flat_calls_set(struct flat_calls *calls, const struct interval_set *s,
		    const struct function_info *record)
{
	struct flat_node *nodes = calls->nodes;
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
	nodes[0].name = (uint32_t)record->name;
	return record->name <= UINT32_MAX;
}

/* 0, -ENOMEM or -E2BIG. */
static int flat_from_intervals(struct batch_cache *cache, uint32_t index, const struct function_info *record,
			       uint32_t n_merged, struct flat_function **ret)
{
	const struct interval_set *s = &cache->intervals;
	struct flat_function *flat =
		s->v.n ? new_flat(cache, index, record->size, n_merged, s->v.n, s->nodes.n) : NULL;
	if (!flat)
		return -ENOMEM;
	*ret = flat;
	return set_locations(flat, s) && flat_calls_set(flat_calls(flat), s, record) ? 0 : -E2BIG;
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

void flat_function_free_scratch(struct batch_cache *cache)
{
	if (cache->intervals.v.cap * sizeof(*cache->intervals.v.v) > SCRATCH_KEPT ||
	    cache->intervals.points.cap * sizeof(*cache->intervals.points.v) > SCRATCH_KEPT)
		intervals_deinit(&cache->intervals);
}

int flat_function_make(struct batch_cache *cache, uint32_t index, const struct function_info *record,
		       uint32_t n_merged, struct flat_function **ret)
{
	int err = intervals_cut(&cache->intervals, record, &cache->reader->tables, record->size - 1);
	if (!err)
		err = flat_from_intervals(cache, index, record, n_merged, ret);
	flat_function_free_scratch(cache);
	return err;
}

/* 0, -ENOMEM, or -E2BIG when the function cannot be flattened. */
static int make_flat(struct batch_cache *cache, uint32_t index, const struct function_info *record,
		     struct flat_queries queries, struct flat_function **ret)
{
	uint32_t n_merged;
	struct cursor merged;
	if (lookup_count_merged(record, &merged, &n_merged, NULL)) {
		*ret = damaged_flat(cache, index, record->size);
		return *ret ? 0 : -ENOMEM;
	}
	uint32_t last = record->size ? record->size - 1 : UINT32_MAX;
	int err = intervals_cut(&cache->intervals, record, &cache->reader->tables, last);
	bool exact = err == -E2BIG;
	if (exact)
		err = cut_here(cache, index, record, queries);
	if (!err)
		err = flat_from_intervals(cache, index, record, n_merged, ret);
	if (!err)
		(*ret)->exact = exact;
	flat_function_free_scratch(cache);
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
		flat = damaged_flat(cache, index, reader_func_size(cache->reader, index));
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
	if (cache->texts_full || cache->functions_full || *slot == FLAT_NEVER)
		return NULL;
	if (!flat && *slot > FLAT_NEVER) /* evict another function: this one was not seen */
		*slot = FLAT_NONE;
	if (*slot == FLAT_NONE && queries.n < MANY) {
		*slot = FLAT_SEEN;
		return NULL;
	}
	return build_for(cache, index, slot, queries);
}
