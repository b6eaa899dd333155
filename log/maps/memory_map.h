/*
 * memory_map.h - which module is where in memory, for logs that have nothing but addresses: as the log tells
 * it (map_line.h), or as the user does.
 *
 * Of a file that is mapped from its beginning the load address is known; of others only the offset in the
 * file.
 */
#ifndef LOG_MAPS_MEMORY_MAP_H
#define LOG_MAPS_MEMORY_MAP_H

#include "log/line/log_format.h"
#include "log/maps/map_line.h"

enum { RANGES_MAX = 8192 }; /* further ones are dropped */

struct memory_range {
	uint64_t start, end; /* of code; end exclusive */
	uint64_t relative;   /* what @start is, in @space */
	uint64_t process;    /* that it is of; 0 if the map is of one */
	uint32_t module;     /* index */
	uint8_t space;       /* enum frame_space */
	bool is_estimate;    /* it may be too long */
	bool disputed;       /* it means different things in different processes: not found */
};

struct mapped_module {
	struct filter_module is;
	uint64_t load; /* where its file was mapped from the beginning last */
	bool has_load;
};

/* Zero-initialised is empty. */
struct memory_map {
	VEC(struct memory_range) ranges; /* ascending, disjoint */
	VEC(struct mapped_module) modules;
};

/*
 * Adds a range of code; parts of others that it covers are gone. 0 or -ENOMEM.
 *
 * @map:    the ranges before
 * @range:  its module is not read
 * @module: that is there
 */
int memory_map_add(struct memory_map *map, const struct memory_range *range,
		   const struct filter_module *module);

/* Adds what a line says; no range if it is not executable, or no file. 0 or -ENOMEM. */
int memory_map_add_line(struct memory_map *map, const struct map_line *line);

/* Sets module, address and space of @ret to what is at @address. False if no code is. */
bool memory_map_find(const struct memory_map *map, uint64_t address, struct log_frame *ret);
/* The same if it is @module, which may be a name without its path. */
bool memory_map_find_in(const struct memory_map *map, uint64_t address, const struct filter_module *module,
			struct log_frame *ret);

void memory_map_reset(struct memory_map *map);
void memory_map_deinit(struct memory_map *map);
size_t memory_map_size(const struct memory_map *map);

#endif
