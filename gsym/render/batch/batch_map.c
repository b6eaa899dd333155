#include "gsym/render/batch/batch_map.h"

#include "gsym/read/lookup.h"
#include "gsym/read/reader.h"

enum {
	CHEAP = 4096, /* bytes of a record: to cut such a function costs little more than one lookup */
	MANY = 64,    /* queries at once that are worth cutting functions for which nobody asked before */
	SCRATCH_KEPT = 1 << 20, /* bytes; what a larger function needed is given back */
};

/* Whether an address can only be that of function @index: it is the only one to start where it does, and has
 * a size. */
static bool is_alone(const struct gsym_reader *reader, uint32_t index, uint32_t size)
{
	uint64_t start = reader_addr_off(reader, index);
	uint32_t n = reader->info.num_addresses;
	return size && (!index || reader_addr_off(reader, index - 1) != start) &&
	       (index + 1 == n || reader_addr_off(reader, index + 1) != start);
}

static struct function_map *new_map(struct memory *m, uint32_t index, const struct record *record, size_t n,
				    size_t n_nodes)
{
	struct function_map *map;
	map = memory_room(m, sizeof(*map) + map_offs_size(n) + n * sizeof(map_place) +
				     n_nodes * sizeof(struct map_node));
	if (!map)
		return NULL;
	*map = (struct function_map){
		.start = reader_addr_off(m->reader, index),
		.index = index,
		.size = record->size,
		.n = (uint32_t)n,
		.alone = is_alone(m->reader, index, record->size),
	};
	return map;
}

/* The map that says -EBADMSG. */
static struct function_map *damaged_map(struct memory *m, uint32_t index, const struct record *record)
{
	return new_map(m, index, record, 0, 0);
}

/* Sets the map's segments and nodes: false when something does not fit. */
static bool set_places(struct function_map *map, const struct segments *s)
{
	map_place *places = map_places(map);
	for (size_t i = 0; i < s->v.n; i++) {
		const struct segment *segment = &s->v.v[i];
		bool damaged = segment->node == SEGMENT_DAMAGED;
		if (segment->file >> PLACE_FILE_BITS || segment->line >> PLACE_LINE_BITS ||
		    (segment->node >= PLACE_DAMAGED && !damaged))
			return false;
		map->offs[i] = segment->off;
		places[i] = ((uint64_t)segment->file << PLACE_LINE_BITS | segment->line) << PLACE_NODE_BITS |
			    (damaged ? PLACE_DAMAGED : segment->node);
	}
	return true;
}

static bool set_nodes(struct function_map *map, const struct segments *s, uint64_t name)
{
	struct map_node *nodes = map_nodes(map);
	for (size_t i = 0; i < s->nodes.n; i++) {
		const struct segment_node *node = &s->nodes.v[i];
		if (node->name > UINT32_MAX || node->first > UINT32_MAX)
			return false;
		nodes[i] = (struct map_node){
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
static int map_of_segments(struct memory *m, uint32_t index, const struct record *record,
			   struct function_map **ret)
{
	const struct segments *s = &m->segments;
	struct function_map *map = s->v.n ? new_map(m, index, record, s->v.n, s->nodes.n) : NULL;
	if (!map)
		return -ENOMEM;
	map->made_of_many = lookup_is_made_of_many(gsym_reader_string(m->reader, record->name));
	*ret = map;
	return set_places(map, s) && set_nodes(map, s, record->name) ? 0 : -E2BIG;
}

/* Offsets of queries within function @index, as many as one pass takes. That another may answer for some does
 * not matter. */
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

static int cut(struct memory *m, uint32_t index, const struct record *record, struct map_queries queries,
	       struct function_map **ret)
{
	uint32_t last = record->size ? record->size - 1 : UINT32_MAX;
	int err = segments_cut(&m->segments, record, &m->reader->tables, last);
	bool exact = err == -E2BIG;
	if (exact)
		err = cut_here(m, index, record, queries);
	if (!err)
		err = map_of_segments(m, index, record, ret);
	if (!err)
		(*ret)->exact = exact;
	if (m->segments.v.cap * sizeof(*m->segments.v.v) > SCRATCH_KEPT ||
	    m->segments.points.cap * sizeof(*m->segments.points.v) > SCRATCH_KEPT)
		segments_deinit(&m->segments);
	return err;
}

/* 0, -ENOMEM, or -E2BIG when the function can have no map. */
static int make_map(struct memory *m, uint32_t index, const struct record *record, struct map_queries queries,
		    struct function_map **ret)
{
	uint32_t n_merged;
	struct cursor merged;
	if (lookup_count_merged(record, &merged, &n_merged, NULL)) {
		*ret = damaged_map(m, index, record);
		return *ret ? 0 : -ENOMEM;
	}
	int err = cut(m, index, record, queries, ret);
	if (!err)
		(*ret)->n_merged = n_merged;
	return err;
}

static bool has_first(const struct memory *m, const struct function_map *map, uint32_t index,
		      const struct batch_query *query)
{
	return !map->exact ||
	       map_answers(map, (uint32_t)(query->addr - gsym_reader_address(m->reader, index)));
}

/* Makes the map and notes it in @slot; NULL when there is none. */
static struct function_map *new_for(struct memory *m, uint32_t index, room_ref *slot,
				    struct map_queries queries)
{
	struct record record = {0};
	struct function_map *map = NULL;
	int err = 0;
	if (reader_parse_record(m->reader, index, &record, NULL))
		map = damaged_map(m, index, &(struct record){.size = reader_func_size(m->reader, index)});
	else if (*slot == MAP_NONE && segments_cost(&record) > CHEAP)
		err = -EAGAIN;
	else
		err = make_map(m, index, &record, queries, &map);
	*slot = err == -E2BIG ? MAP_NEVER : err || !map ? MAP_ASKED : memory_ref(m, map);
	return err ? NULL : map;
}

struct function_map *map_get(struct memory *m, uint32_t index, struct map_queries queries)
{
	room_ref *slot = &m->maps[index & (m->n_maps - 1)];
	struct function_map *map = map_there(m, index);
	if (map && has_first(m, map, index, &queries.v[0]))
		return map;
	if (m->full || *slot == MAP_NEVER)
		return NULL;
	if (!map && *slot > MAP_NEVER) /* that of another function: this one was not asked for */
		*slot = MAP_NONE;
	if (*slot == MAP_NONE && queries.n < MANY) {
		*slot = MAP_ASKED;
		return NULL;
	}
	return new_for(m, index, slot, queries);
}
