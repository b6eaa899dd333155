/*
 * batch_memory.h - what a batch keeps of a file: functions cut into segments, and strings as a format shows
 * them.
 *
 * All of it belongs to one way of showing, and is dropped at once, when it has become too much or another
 * format is asked for. Nothing moves until memory_begin() or memory_refresh() is called. Internal.
 */
#ifndef GSYM_RENDER_BATCH_BATCH_MEMORY_H
#define GSYM_RENDER_BATCH_BATCH_MEMORY_H

#include "gsym/read/segments.h"
#include "gsym/read/starts.h"
#include "gsym/render/formats/formats.h"

/* A string as it is shown. PUT_SLACK bytes behind the last can be read. */
struct memory_text {
	uint16_t shown;   /* bytes */
	uint16_t linkage; /* of a name: as it is stored, escaped; where it begins, */
	uint16_t end;     /* and where it ends */
	bool too_long;    /* to be kept: there is no text */
	uint8_t bytes[];
};

static inline struct span text_shown(const struct memory_text *text)
{
	return (struct span){text->bytes, text->shown};
}

static inline struct span text_linkage(const struct memory_text *text)
{
	return (struct span){text->bytes + text->linkage, (size_t)(text->end - text->linkage)};
}

/*
 * Where something is in the room; 0 = nowhere. Of texts the lowest bits say how many lines of the processor's
 * cache follow the first, so that they can be asked for without a look.
 */
typedef uint32_t room_ref;

enum {
	REF_LINES = 7, /* those bits */
	CACHE_LINE = 64,
};

struct map_node {
	room_ref text; /* of its name; 0 before it was asked for */
	uint32_t name;
	uint32_t first;
	uint32_t call_file;
	uint32_t call_line;
	uint32_t parent;
};

/* What a segment says, see segments.h, packed: file, line, and the node in the lowest bits. */
typedef uint64_t map_place;

enum {
	PLACE_FILE_BITS = 20,
	PLACE_LINE_BITS = 22,
	PLACE_NODE_BITS = 22,
	PLACE_DAMAGED = (1 << PLACE_NODE_BITS) - 1, /* for a node */
};

static inline uint32_t place_file(map_place place)
{
	return (uint32_t)(place >> (PLACE_LINE_BITS + PLACE_NODE_BITS));
}

static inline uint32_t place_line(map_place place)
{
	return (uint32_t)(place >> PLACE_NODE_BITS) & ((1U << PLACE_LINE_BITS) - 1);
}

static inline uint32_t place_node(map_place place)
{
	return (uint32_t)place & PLACE_DAMAGED;
}

/*
 * A function. Where segments begin comes first, since that is searched; behind it what they say, and the
 * nodes, of which number 0 is the function itself. All of it is packed: what random addresses cost is how
 * much of this they have to bring from memory.
 */
struct function_map {
	uint64_t start; /* from the base address */
	uint32_t index;
	uint32_t size;
	uint32_t n_merged;
	uint32_t n; /* segments; 0 = the record is damaged for every address */
	bool alone; /* every address in [start, start + size) is this function's */
	bool exact; /* segments answer for their own offsets alone */
	bool made_of_many;
	_Alignas(map_place) uint32_t offs[]; /* n, ascending */
};

static inline size_t map_offs_size(size_t n)
{
	return (n + n % 2) * sizeof(uint32_t);
}

static inline map_place *map_places(const struct function_map *map)
{
	return (map_place *)((char *)map->offs + map_offs_size(map->n));
}

static inline struct map_node *map_nodes(const struct function_map *map)
{
	return (struct map_node *)(map_places(map) + map->n);
}

/* What is known of a function: where its map is, or one of these. */
enum {
	MAP_NONE,
	MAP_ASKED, /* there was one query for it */
	MAP_NEVER, /* it is answered one by one: something in it is too large for a map */
};

struct text_slot {
	uint32_t key;  /* where a name is stored, or a file's number */
	room_ref text; /* 0: there is none */
};

enum { MEMORY_PATHS = 1 << 13 }; /* slots */

struct memory {
	const struct gsym_reader *reader;
	enum render_format format;
	enum demangle_mode demangle;
	bool is_set_up;
	bool emptied; /* once at least */
	bool full;
	char *room; /* mapped */
	size_t used;
	struct starts starts;
	size_t asked;   /* queries for this reader */
	room_ref *maps; /* n_maps, by number of the function, or by its end if there are more functions */
	size_t n_maps;
	struct text_slot *names, *paths;
	struct segments segments;
	struct text_buf text; /* being made */
};

/*
 * Makes room for @n queries. False when they had better be answered one by one, because they are few or there
 * is no memory. What memory_begin() gave room for before is gone if another format is asked for.
 */
bool memory_begin(struct memory *m, const struct render_options *options, size_t n);

/* Empties memory that is full. */
void memory_refresh(struct memory *m);

/* Drops everything; one that has nothing but a reader is empty. */
void memory_deinit(struct memory *m);

/* Bytes that it holds, roughly. */
size_t memory_bytes(const struct memory *m);

/* Room for something, aligned for any type; NULL when memory is full: then memory_refresh() is due. */
void *memory_room(struct memory *m, size_t size);

/*
 * The name or file as it is shown. 0 when the file has no such string or entry; or, without memory, one that
 * is too_long.
 */
room_ref memory_name(struct memory *m, const struct render_options *options, uint32_t name);
room_ref memory_path(struct memory *m, uint32_t file);

/* The file if it was asked for before, else 0. */
static inline room_ref memory_path_there(const struct memory *m, uint32_t file)
{
	const struct text_slot *slot = &m->paths[file & (MEMORY_PATHS - 1)]; /* numbers of files are small */
	return slot->key == file ? slot->text : 0;
}

static inline room_ref memory_ref(const struct memory *m, const void *at)
{
	return (room_ref)((const char *)at - m->room);
}

static inline const struct memory_text *memory_text(const struct memory *m, room_ref ref)
{
	return (const struct memory_text *)(m->room + (ref & ~(room_ref)REF_LINES));
}

#endif
