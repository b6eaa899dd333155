/*
 * batch_cache.h - what a batch caches of a file: flattened functions, and strings as a format renders
 * them.
 *
 * It serves one format and demangling mode and is emptied for another one. Texts are dropped when there is
 * no room for more of them, and so are functions. Objects do not move until
 * batch_cache_begin(), batch_cache_refresh() or batch_cache_end_chunk(). Internal.
 */
#ifndef GSYM_RENDER_BATCH_BATCH_CACHE_H
#define GSYM_RENDER_BATCH_BATCH_CACHE_H

#include "gsym/base/invariant.h"
#include "gsym/base/vec.h"
#include "gsym/read/intervals.h"
#include "gsym/read/start_index.h"
#include "gsym/render/batch/batch_query.h"
#include "gsym/render/render.h"

/* A rendered string. PUT_SLACK bytes after the last of either text are readable. */
struct cached_text {
	const uint8_t
		*linkage; /* of a name: as it is stored, escaped; in the file where it needs no escape */
	uint16_t linkage_size;
	uint16_t shown; /* bytes */
	bool too_long;  /* to be kept: there is no text */
	bool of_many;   /* of a name: lookup_is_made_of_many() */
	uint8_t bytes[];
};

static inline struct span text_shown(const struct cached_text *text)
{
	return (struct span){text->bytes, text->shown};
}

static inline struct span text_linkage(const struct cached_text *text)
{
	return (struct span){text->linkage, text->linkage_size};
}

/*
 * Offset of an object in the arena; 0 = none. For texts the lowest bits hold the number of cache lines
 * after the first, so that they can be prefetched without reading the header.
 */
typedef uint32_t arena_ref;

enum {
	REF_LINES = 7, /* those bits */
	CACHE_LINE = 64,
};

struct flat_node {
	arena_ref text; /* of its name; 0 = not rendered yet */
	uint32_t name;
	uint32_t first;
	uint32_t call_file;
	uint32_t call_line;
	uint32_t parent;
};

/* What a interval says, see intervals.h, packed: file, line, and the node in the lowest bits. */
typedef uint64_t packed_location;

enum {
	LOCATION_FILE_BITS = 20,
	LOCATION_LINE_BITS = 22,
	LOCATION_NODE_BITS = 22,
	LOCATION_DAMAGED = (1 << LOCATION_NODE_BITS) - 1, /* for a node */
};

static_assert(LOCATION_FILE_BITS + LOCATION_LINE_BITS + LOCATION_NODE_BITS == 64, "a location is packed");

static inline uint32_t location_file(packed_location place)
{
	return (uint32_t)(place >> (LOCATION_LINE_BITS + LOCATION_NODE_BITS));
}

static inline uint32_t location_line(packed_location place)
{
	return (uint32_t)(place >> LOCATION_NODE_BITS) & ((1U << LOCATION_LINE_BITS) - 1);
}

static inline uint32_t location_node(packed_location place)
{
	return (uint32_t)place & LOCATION_DAMAGED;
}

/* Where a result may be within a function: the function itself, number 0, and inlined calls. */
struct flat_calls {
	uint64_t start; /* of the function, from the base address */
	uint32_t n_merged;
	uint32_t n;
	struct flat_node nodes[];
};

/*
 * A flattened function. Offsets come first, as they are searched; then the locations and a struct
 * flat_calls. It is packed: the cost of random addresses is the number of cache
 * lines they touch.
 */
struct flat_function {
	uint64_t start; /* from the base address */
	uint32_t index;
	uint32_t size;
	uint32_t n; /* intervals; 0 = the record is damaged for every address */
	bool alone; /* every address in [start, start + size) is this function's */
	bool exact; /* intervals answer for their own offsets alone */
	_Alignas(packed_location) uint32_t offs[]; /* n, ascending */
};

static_assert(offsetof(struct flat_function, offs) % _Alignof(packed_location) == 0,
	      "locations follow the offsets aligned");

static inline size_t flat_offs_size(size_t n)
{
	return (n + n % 2) * sizeof(uint32_t);
}

static inline packed_location *flat_locations(const struct flat_function *flat)
{
	return (packed_location *)((char *)flat->offs + flat_offs_size(flat->n));
}

static inline struct flat_calls *flat_calls(const struct flat_function *flat)
{
	return (struct flat_calls *)(flat_locations(flat) + flat->n);
}

static inline size_t flat_calls_size(size_t n)
{
	return sizeof(struct flat_calls) + n * sizeof(struct flat_node);
}

/*
 * What was found in advance for an announced query: by one pass over the records in the order of the file,
 * see chunk_find().
 */
struct place {
	packed_location at;
	arena_ref calls; /* 0: nothing */
	uint32_t off;    /* from the function's start */
};

enum { PENDING_NAMES = 32 };

/* Queries that were announced. */
struct chunk {
	VEC(struct place) places; /* of all of them */
	size_t next;              /* place of the next query that is answered */
	VEC(uint64_t) keys; /* offsets from the base address with the place's number; room to sort them */
	size_t done;        /* keys whose places are found */
	struct flat_node *pending[PENDING_NAMES]; /* whose names are to be rendered */
	size_t n_pending;
};

/* Slot of a function: a reference to its struct flat_function, or one of these. */
enum {
	FLAT_NONE,
	FLAT_SEEN,  /* one query was seen */
	FLAT_NEVER, /* cannot be flattened: looked up individually */
};

struct text_slot {
	uint32_t key;   /* where a name is stored, or a file's number */
	arena_ref text; /* 0: there is none */
};

/* Every name once: open addressing, see probe.h. */
struct text_table {
	struct text_slot *slots;
	size_t mask, n;
	uint64_t secret; /* names are numbers of the file's choice: hashes are not */
};

/* Parts of the arena. */
enum cache_part {
	PART_TEXTS,
	PART_FUNCTIONS, /* flattened for good */
	PART_CHUNK,     /* calls of announced queries: batch_cache_end_chunk() */
	CACHE_PARTS,
};

struct arena_part {
	size_t used, most; /* offsets in the arena: where it is filled up to, and ever was */
};

struct batch_cache {
	const struct gsym_reader *reader;
	enum render_format format;
	enum demangle_mode demangle;
	bool is_set_up;
	bool texts_full, functions_full; /* batch_cache_refresh() is due */
	char *arena;                     /* mapped */
	struct arena_part parts[CACHE_PARTS];
	struct start_index starts;
	size_t asked; /* queries for this reader */
	enum start_order { ORDER_UNKNOWN, IN_ORDER, NOT_IN_ORDER } order;
	arena_ref *flat; /* n_maps, by number of the function, or by its end if there are more functions */
	size_t n_flat;
	uint8_t *passes; /* beside flat: chunks for which the function's record was read */
	struct text_table names;
	struct text_slot *paths; /* n_paths, by number of the file, or by its end if there are more files */
	size_t n_paths;
	const char *(*shown_dir)(const void *user, const char *dir); /* of struct batch_options */
	const void *shown_dir_user;
	struct interval_set intervals;
	struct chunk chunk;
	struct text_buf text; /* being made */
};

/*
 * Prepares for @n queries. False when individual lookups are cheaper because they are few, or without
 * memory. Objects of another format are dropped.
 */
bool batch_cache_begin(struct batch_cache *cache, const struct render_options *options, size_t n);

/* Whether announced queries are still to be answered: their places stay. */
static inline bool batch_cache_has_chunk(const struct batch_cache *cache)
{
	return cache->chunk.next < cache->chunk.places.n;
}

/* Whether batch_cache_refresh() is due. */
static inline bool batch_cache_is_full(const struct batch_cache *cache)
{
	return cache->texts_full || (cache->functions_full && !batch_cache_has_chunk(cache));
}

/* Empties what is full; functions only when no announced query needs them. */
void batch_cache_refresh(struct batch_cache *cache);

/* Drops what was found for announced queries. */
void batch_cache_end_chunk(struct batch_cache *cache);

/* Releases everything; zero-initialised with a reader is empty. */
void batch_cache_deinit(struct batch_cache *cache);

/*
 * Whether start addresses ascend, as they do but in damaged files: then the queries between two of them
 * have one function.
 */
bool batch_cache_has_order(struct batch_cache *cache);

/* Bytes that it holds, roughly. */
size_t batch_cache_bytes(const struct batch_cache *cache);

/* Bytes that can be allocated from a part. */
size_t batch_cache_room(const struct batch_cache *cache, enum cache_part part);

/* Allocates from a part, aligned for any type; NULL when it is full. From PART_FUNCTIONS only functions are
 * allocated, from PART_CHUNK only struct flat_calls. */
void *batch_cache_alloc(struct batch_cache *cache, enum cache_part part, size_t size);

/*
 * The rendered name or path. 0 when the file has no such string or entry; a text that is too_long when it
 * cannot be cached.
 */
arena_ref batch_cache_name(struct batch_cache *cache, const struct render_options *options, uint32_t name);
arena_ref batch_cache_path(struct batch_cache *cache, uint32_t file);

/* Renders the names of @nodes that have none yet while there is room, so that cache misses overlap. */
void batch_cache_render_names(struct batch_cache *cache, const struct render_options *options,
			      struct flat_node *const *nodes, size_t n);

/* The path if it is cached, otherwise 0. */
static inline arena_ref batch_cache_find_path(const struct batch_cache *cache, uint32_t file)
{
	const struct text_slot *slot = &cache->paths[file & (cache->n_paths - 1)];
	return slot->key == file ? slot->text : 0;
}

static inline arena_ref batch_cache_ref(const struct batch_cache *cache, const void *at)
{
	invariant((const char *)at >= cache->arena &&
		  (const char *)at < cache->arena + cache->parts[CACHE_PARTS - 1].used);
	return (arena_ref)((const char *)at - cache->arena);
}

static inline const struct cached_text *cached_text_at(const struct batch_cache *cache, arena_ref ref)
{
	return (const struct cached_text *)(cache->arena + (ref & ~(arena_ref)REF_LINES));
}

/* ---- Places of many queries found in advance, each function in one pass over its record (chunk.c) ---- */

enum { CHUNK_MOST = 256 * 1024 }; /* queries */

/*
 * Drops the places of earlier queries and sorts @queries, CHUNK_MOST at most. The cache has begun. 0 or
 * -ENOMEM.
 */
int chunk_begin(struct batch_cache *cache, const struct batch_query *queries, size_t n);

/*
 * Finds places, and renders the names in them, until @stop(@user), unless that is NULL, is true or there is
 * no room. What has no place is found as without.
 */
void chunk_find(struct batch_cache *cache, const struct render_options *options,
		bool (*stop)(const void *user), const void *user);

/* Whether there is nothing left to find. */
static inline bool chunk_is_found(const struct batch_cache *cache)
{
	return cache->chunk.done == cache->chunk.keys.n;
}

/* The place of the query at @addr, which is the one number @i from the next on, or NULL. */
static inline const struct place *chunk_place(const struct batch_cache *cache, size_t i, uint64_t addr)
{
	const struct chunk *chunk = &cache->chunk;
	const struct place *place =
		i < chunk->places.n - chunk->next ? &chunk->places.v[chunk->next + i] : NULL;
	if (!place || !place->calls)
		return NULL;
	const struct flat_calls *calls = (const struct flat_calls *)(cache->arena + place->calls);
	return cache->reader->info.base_address + calls->start + place->off == addr ? place : NULL;
}

/* Prefetches what chunk_place() of the query number @i reads, and where in the function it is. */
static inline void chunk_expect_place(const struct batch_cache *cache, size_t i)
{
	const struct chunk *chunk = &cache->chunk;
	if (i >= chunk->places.n - chunk->next)
		return;
	const struct place *place = &chunk->places.v[chunk->next + i];
	const struct flat_calls *calls = (const struct flat_calls *)(cache->arena + place->calls);
	__builtin_prefetch(calls);
	__builtin_prefetch(&calls->nodes[location_node(place->at)]);
}

/* The next @n queries are answered. */
static inline void chunk_advance(struct batch_cache *cache, size_t n)
{
	struct chunk *chunk = &cache->chunk;
	size_t left = chunk->places.n - chunk->next;
	chunk->next += n < left ? n : left;
}

#endif
