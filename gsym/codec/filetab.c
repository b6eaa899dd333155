#include "gsym/codec/filetab.h"

#include <xxhash.h>

enum {
	SLOTS_MIN = 256,
};

int filetab_init(struct filetab *files)
{
	struct filetab_entry none = {0, 0};
	*files = (struct filetab){.entries.n = 0};
	if (index_table_init(&files->table, SLOTS_MIN) || vec_push(&files->entries, none)) {
		filetab_deinit(files);
		return -ENOMEM;
	}
	return 0;
}

void filetab_deinit(struct filetab *files)
{
	index_table_deinit(&files->table);
	vec_free(&files->entries);
}

static uint64_t hash_of(const struct filetab_entry *entry)
{
	return XXH3_64bits(entry, sizeof(*entry));
}

static bool is_entry(const struct filetab *files, size_t index, const struct filetab_entry *entry)
{
	const struct filetab_entry *at = &files->entries.v[index];
	return at->dir == entry->dir && at->base == entry->base;
}

static int widen(struct filetab *files)
{
	if (index_table_widen(&files->table))
		return -ENOMEM;
	for (size_t i = 1; i < files->entries.n; i++)
		index_table_add(&files->table, hash_of(&files->entries.v[i]), i);
	return 0;
}

int filetab_add(struct filetab *files, uint64_t dir, uint64_t base, uint32_t *ret)
{
	const struct filetab_entry entry = {dir, base};
	const struct index_table *t = &files->table;
	if (!dir && !base) {
		*ret = 0;
		return 0;
	}
	if (index_table_is_full(t, files->entries.n) && widen(files))
		return -ENOMEM;
	uint64_t hash = hash_of(&entry);
	uint32_t known =
		t->slots[PROBE(i, hash, t->mask, !t->slots[i] || is_entry(files, t->slots[i] - 1, &entry))];
	if (known) {
		*ret = known - 1;
		return 0;
	}
	if (files->entries.n >= UINT32_MAX)
		return -EOVERFLOW;
	if (vec_push(&files->entries, entry))
		return -ENOMEM;
	*ret = (uint32_t)(files->entries.n - 1);
	index_table_add(&files->table, hash, *ret);
	return 0;
}
