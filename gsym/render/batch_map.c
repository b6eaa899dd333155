#include "batch_map.h"

#include "../lookup.h"
#include "../reader.h"

enum {
	CHEAP = 4096,                /* bytes of a record: to cut such a function costs little more than one lookup */
	MANY = 64,                   /* queries at once that are worth cutting functions for which nobody asked before */
	SCRATCH_KEPT = 1 << 20,      /* bytes; what a larger function needed is given back */
};

/* Whether an address can only be that of function @index: it is the only one to start where it does, and has a size. */
static bool is_alone(const struct gsym_reader *reader, uint32_t index, uint32_t size)
{
	uint64_t start = reader_addr_off(reader, index);
	uint32_t n = reader->info.num_addresses;
	return size && (!index || reader_addr_off(reader, index - 1) != start) &&
	       (index + 1 == n || reader_addr_off(reader, index + 1) != start);
}

static struct function_map *new_map(struct memory *m, uint32_t index, const struct record *record, size_t n, size_t n_nodes)
{
	struct function_map *map =
		memory_room(m, sizeof(*map) + n * sizeof(*map->segments) + n_nodes * sizeof(*map->nodes));
	if (!map)
		return NULL;
	*map = (struct function_map){
		.start = reader_addr_off(m->reader, index),
		.size = record->size,
		.n = (uint32_t)n,
		.alone = is_alone(m->reader, index, record->size),
	};
	map->nodes = (struct map_node *)(map + 1);
	map->segments = (struct segment *)(map->nodes + n_nodes);
	return map;
}

/* The map that says -EBADMSG. */
static struct function_map *damaged_map(struct memory *m, uint32_t index, const struct record *record)
{
	return new_map(m, index, record, 0, 0);
}

static struct function_map *map_of_segments(struct memory *m, uint32_t index, const struct record *record, uint32_t n_merged,
					    bool exact)
{
	const struct segments *s = &m->segments;
	struct function_map *map = new_map(m, index, record, s->v.n, s->nodes.n);
	if (!map)
		return NULL;
	map->n_merged = n_merged;
	map->exact = exact;
	map->made_of_many = lookup_is_made_of_many(gsym_reader_string(m->reader, record->name));
	memcpy(map->segments, s->v.v, s->v.n * sizeof(*map->segments));
	for (size_t i = 0; i < s->nodes.n; i++) {
		const struct segment_node *node = &s->nodes.v[i];
		map->nodes[i] = (struct map_node){
			.name = node->name,
			.first = node->first,
			.call_file = node->call_file,
			.call_line = node->call_line,
			.parent = node->parent,
		};
	}
	map->nodes[0].name = record->name;
	return map;
}

/* Offsets of queries within function @index, as many as one pass takes. That another may answer for some does not matter. */
static int gather(struct memory *m, uint32_t index, uint32_t size, struct map_queries queries)
{
	struct offsets *offsets = &m->segments.edges;
	uint64_t start = gsym_reader_address(m->reader, index);
	offsets->n = 0;
	for (size_t i = 0; i < queries.n && offsets->n < SEGMENTS_AT_MAX; i++) {
		uint64_t in = queries.v[i].addr - start;
		if (queries.v[i].kind == BATCH_ADDRESS && in <= UINT32_MAX && (!size || in < size) &&
		    vec_push(offsets, (uint32_t)in))
			return -ENOMEM;
	}
	return 0;
}

static int cut_here(struct memory *m, uint32_t index, const struct record *record, struct map_queries queries)
{
	int err = gather(m, index, record->size, queries);
	return err ? err : segments_at(&m->segments, record, &m->reader->tables);
}

static struct function_map *make_map(struct memory *m, uint32_t index, const struct record *record,
				     struct map_queries queries)
{
	uint32_t n_merged;
	struct cursor merged;
	if (lookup_count_merged(record, &merged, &n_merged, NULL))
		return damaged_map(m, index, record);
	uint32_t last = record->size ? record->size - 1 : UINT32_MAX;
	int err = segments_cut(&m->segments, record, &m->reader->tables, last);
	bool exact = err == -E2BIG;
	if (exact)
		err = cut_here(m, index, record, queries);
	struct function_map *map = err || !m->segments.v.n ? NULL : map_of_segments(m, index, record, n_merged, exact);
	if (m->segments.v.cap * sizeof(*m->segments.v.v) > SCRATCH_KEPT ||
	    m->segments.points.cap * sizeof(*m->segments.points.v) > SCRATCH_KEPT)
		segments_deinit(&m->segments);
	return map;
}

static bool has_first(const struct memory *m, const struct function_map *map, uint32_t index, const struct batch_query *query)
{
	return !map->exact || map_segment(map, (uint32_t)(query->addr - gsym_reader_address(m->reader, index)));
}

struct function_map *map_get(struct memory *m, uint32_t index, struct map_queries queries)
{
	struct map_slot *slot = &m->maps[index & (m->n_maps - 1)];
	bool before = slot->generation == m->generation && slot->index == index;
	struct record record = {0};
	if (before && slot->map && has_first(m, slot->map, index, &queries.v[0]))
		return slot->map;
	if (m->full)
		return NULL;
	if (!before) {
		*slot = (struct map_slot){m->generation, index, NULL};
		if (queries.n < MANY)
			return NULL;
	}
	if (reader_parse_record(m->reader, index, &record, NULL))
		return slot->map = damaged_map(m, index, &(struct record){.size = reader_func_size(m->reader, index)});
	if (!before && segments_cost(&record) > CHEAP)
		return NULL;
	return slot->map = make_map(m, index, &record, queries);
}
