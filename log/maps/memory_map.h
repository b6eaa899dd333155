/*
 * memory_map.h - which module is where in memory, for logs that have nothing but addresses: as the log tells
 * it, or as the user does. Lines of three kinds tell it:
 *
 *	55a6236dd000-55a6236de000 r-xp 00001000 fe:00 11199062    /usr/bin/example
 *	    0000007f'51c00000-0000007f'51c00fff r-x         0      1000  /system/lib64/libx.so (BuildId: 0123)
 *	x 4711 0.1: PERF_RECORD_MMAP2 4711/4711: [0x7f51c0000000(0x1000) @ 0x1000 fe:00 1 2]: r-xp /bin/x
 *
 * The first is of /proc/PID/maps, the second of Android's tombstones, where the end is the last byte, and the
 * third of "perf script --show-mmap-events", where a build id may be in place of the device. The first may
 * end with " (BuildId: 0123)", too, as of process_maps.h.
 *
 * Of a file that is mapped from its beginning the load address is known; of others only the offset in the
 * file. Anonymous code that fills the hole between two mappings of one file is of that, moved to large pages.
 */
#ifndef LOG_MAPS_MEMORY_MAP_H
#define LOG_MAPS_MEMORY_MAP_H

#include "log/line/log_format.h"

/* A line that tells what is mapped where. */
struct map_line {
	uint64_t start, end; /* end exclusive */
	uint64_t offset;     /* in the file */
	uint64_t process;    /* is_event */
	bool executable;
	bool is_event;         /* of one of several processes, which perf recorded */
	struct text_scan path; /* not of a file if it does not begin with '/' */
	struct text_scan id;   /* empty: none */
};

/* Parses a line. False if it is none of the three. */
bool map_line_parse(struct text_scan line, struct map_line *ret);

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
	size_t base, size; /* of its name: where the last component begins; bytes */
	uint64_t load;     /* where its file was mapped from the beginning last */
	bool has_load;
};

/* The end of the last mapping of a file, and the anonymous code that follows it. */
struct map_hole {
	uint64_t start, end; /* equal: no such code */
	uint64_t offset;     /* in the file, of @start */
	uint32_t module;     /* index */
};

/* Zero-initialised is empty. */
struct memory_map {
	struct map_hole hole;
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

/* Sets module, address and space of @ret to what is at @address, which may be tagged. False if no code is. */
bool memory_map_find(const struct memory_map *map, uint64_t address, struct log_frame *ret);
/* The same if it is @module, which may be a name without its path. */
bool memory_map_find_in(const struct memory_map *map, uint64_t address, const struct filter_module *module,
			struct log_frame *ret);

/* Completes a module that has no id by what is mapped as the only one of its name: the path, and the id. */
void memory_map_identify(const struct memory_map *map, struct filter_module *module);

void memory_map_reset(struct memory_map *map);
void memory_map_deinit(struct memory_map *map);
size_t memory_map_size(const struct memory_map *map);

#endif
