#include "gsym/write/copier.h"

#include "gsym/base/invariant.h"
#include "gsym/base/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_MIN = 1024 };

void string_map_deinit(struct string_map *map)
{
	free(map->slots);
	*map = (struct string_map){0};
}

int string_map_clear(struct string_map *map)
{
	if (!map->slots) {
		map->slots = calloc(SLOTS_MIN, sizeof(*map->slots));
		if (!map->slots)
			return -ENOMEM;
		map->n_slots = SLOTS_MIN;
	}
	map->used = 0;
	if (++map->run == 0) { /* the generation wrapped: slots of 2^32 runs ago would match */
		memset(map->slots, 0, map->n_slots * sizeof(*map->slots));
		map->run = 1;
	}
	return 0;
}

/* The slot that holds @from, or the free one where it belongs. Fibonacci hashing spreads neighbours. */
static struct copied_string *find_copied(const struct string_map *map, uint64_t from)
{
	invariant(map->used < map->n_slots); /* else the search would not end */
	return &map->slots[PROBE(i, from * 0x9e3779b97f4a7c15 >> 32, map->n_slots - 1,
				 map->slots[i].run != map->run || map->slots[i].from == from)];
}

bool string_map_find(const struct string_map *map, uint64_t from, uint64_t *ret)
{
	const struct copied_string *slot = find_copied(map, from);
	if (slot->run != map->run)
		return false;
	*ret = slot->to;
	return true;
}

static int grow(struct string_map *map)
{
	struct string_map grown = {.n_slots = 2 * map->n_slots, .run = map->run, .used = map->used};
	grown.slots = calloc(grown.n_slots, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_slots; i++)
		if (map->slots[i].run == map->run)
			*find_copied(&grown, map->slots[i].from) = map->slots[i];
	free(map->slots);
	*map = grown;
	return 0;
}

int string_map_add(struct string_map *map, uint64_t from, uint64_t to)
{
	if (map->used >= map->n_slots / 2 && grow(map))
		return -ENOMEM;
	*find_copied(map, from) = (struct copied_string){from, to, map->run};
	map->used++;
	return 0;
}
