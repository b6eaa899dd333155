#include "gsym/codec/filetab.h"

#include "gsym/base/invariant.h"

#include <xxhash.h>

enum {
	SLOTS_MIN = 256,
};

int filetab_init(struct filetab *table)
{
	struct filetab_entry none = {0, 0};
	*table = (struct filetab){.n_slots = SLOTS_MIN};
	table->slots = calloc(table->n_slots, sizeof(*table->slots));
	if (!table->slots || vec_push(&table->entries, none)) {
		filetab_deinit(table);
		return -ENOMEM;
	}
	return 0;
}

void filetab_deinit(struct filetab *table)
{
	free(table->slots);
	vec_free(&table->entries);
	*table = (struct filetab){.n_slots = 0};
}

/* The slot that holds the index of @entry, or the free one where it belongs. */
static uint32_t *find(const struct filetab *table, const struct filetab_entry *entry)
{
	invariant(table->entries.n < table->n_slots); /* else the search would not end */
	for (size_t i = (size_t)XXH3_64bits(entry, sizeof(*entry));; i++) {
		uint32_t *slot = &table->slots[i & (table->n_slots - 1)];
		const struct filetab_entry *at = &table->entries.v[*slot];
		if (!*slot || (at->dir == entry->dir && at->base == entry->base))
			return slot;
	}
}

static int grow_slots(struct filetab *table)
{
	uint32_t *slots = calloc(table->n_slots * 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(table->slots);
	table->slots = slots;
	table->n_slots *= 2;
	for (size_t i = 1; i < table->entries.n; i++)
		*find(table, &table->entries.v[i]) = (uint32_t)i;
	return 0;
}

int filetab_add(struct filetab *table, uint64_t dir, uint64_t base, uint32_t *ret)
{
	struct filetab_entry entry = {dir, base};
	if (!dir && !base) {
		*ret = 0;
		return 0;
	}
	if (table->entries.n >= table->n_slots / 2 && grow_slots(table))
		return -ENOMEM;
	uint32_t *slot = find(table, &entry);
	if (!*slot) {
		if (table->entries.n >= UINT32_MAX)
			return -EOVERFLOW;
		uint32_t index = (uint32_t)table->entries.n;
		if (vec_push(&table->entries, entry))
			return -ENOMEM;
		*slot = index;
	}
	*ret = *slot;
	return 0;
}
