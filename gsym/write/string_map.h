/*
 * string_map.h - a map from string table offsets of one GSYM file to those of another.
 *
 * Clearing it does not touch its memory (a generation number invalidates all slots), as it is cleared for
 * each of many files that are written in turn.
 */
#ifndef GSYM_WRITE_STRING_MAP_H
#define GSYM_WRITE_STRING_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct copied_string {
	uint64_t from, to;
	uint32_t run; /* in use when it is that of the map */
};

/* Zero-initialised, then string_map_clear(): empty. */
struct string_map {
	struct copied_string *slots; /* see probe.h */
	size_t n_slots, used;
	uint32_t run;
};

void string_map_deinit(struct string_map *map);

/* 0, or -ENOMEM. */
int string_map_clear(struct string_map *map);

/* The new offset of @from. False if it has none yet. */
bool string_map_find(const struct string_map *map, uint64_t from, uint64_t *ret);

/* Adds a string that is not in the map: 0 or -ENOMEM. */
int string_map_add(struct string_map *map, uint64_t from, uint64_t to);

#endif
