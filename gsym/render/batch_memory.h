/*
 * batch_memory.h - what a batch keeps of a file: functions cut into segments, and strings as a format shows them.
 *
 * All of it belongs to one way of showing, and is dropped at once, when it has become too much or another format is
 * asked for. Nothing moves until memory_begin() or memory_refresh() is called. Internal.
 */
#ifndef GSYM_RENDER_BATCH_MEMORY_H
#define GSYM_RENDER_BATCH_MEMORY_H

#include "../segments.h"
#include "../starts.h"
#include "formats.h"

/* A string as it is shown. */
struct memory_text {
	struct span shown;
	struct span linkage; /* of a name: as it is stored, escaped */
	bool too_long;       /* to be kept: there is no text */
};

struct map_node {
	const struct memory_text *text; /* of its name; NULL before it was asked for */
	uint64_t name;
	uint64_t first;
	uint32_t call_file;
	uint32_t call_line;
	uint32_t parent;
};

/* A function. Node 0 is the function itself. */
struct function_map {
	uint64_t start; /* from the base address */
	uint32_t size;
	uint32_t n_merged;
	uint32_t n;     /* segments; 0 = the record is damaged for every address */
	bool alone;     /* every address in [start, start + size) is this function's */
	bool exact;     /* segments answer for their own offsets alone */
	bool made_of_many;
	struct map_node *nodes;
	struct segment *segments;
};

struct map_slot {
	uint32_t generation;
	uint32_t index;
	struct function_map *map; /* NULL: it was asked for once */
};

struct text_slot {
	uint64_t key;
	uint32_t generation;
	struct memory_text *text;
};

struct memory {
	const struct gsym_reader *reader;
	enum render_format format;
	enum demangle_mode demangle;
	uint32_t generation; /* what slots of others hold is gone; 0 = nothing is set up */
	bool full;
	char *room; /* mapped */
	size_t used;
	struct starts starts;
	size_t asked; /* queries for this reader */
	struct map_slot *maps; /* n_maps, by number of the function */
	size_t n_maps;
	struct text_slot *names, *paths;
	struct segments segments;
	struct text_buf text; /* being made */
};

/*
 * Makes room for @n queries. False when they had better be answered one by one, because they are few or there is no memory.
 * What memory_begin() gave room for before is gone if another format is asked for.
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
 * The name or file as it is shown. NULL when the file has no such string or entry; or without memory, with an answer that is too_long.
 */
const struct memory_text *memory_name(struct memory *m, const struct render_options *options, uint64_t name);
const struct memory_text *memory_path(struct memory *m, uint32_t file);

#endif
