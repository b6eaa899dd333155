#include "gsym/codec/strtab.h"

#include "gsym/base/invariant.h"
#include "gsym/base/probe.h"
#include "gsym/base/vec.h"

#include <string.h>
#include <xxhash.h>

enum {
	SLOTS_MIN = 1024,
};

int strtab_init(struct strtab *table, uint64_t limit)
{
	*table = (struct strtab){.limit = limit, .n_slots = SLOTS_MIN, .cap = 64 * 1024};
	table->slots = calloc(table->n_slots, sizeof(*table->slots));
	table->bytes = malloc(table->cap);
	if (!table->slots || !table->bytes) {
		strtab_deinit(table);
		return -ENOMEM;
	}
	table->bytes[table->n++] = 0;
	return 0;
}

void strtab_deinit(struct strtab *table)
{
	free(table->slots);
	free(table->bytes);
	*table = (struct strtab){0};
}

static bool slot_has(const struct strtab *table, const struct strtab_slot *slot, const char *text,
		     size_t size, uint32_t hash)
{
	return slot->hash == hash && slot->size == size && !memcmp(table->bytes + slot->strp, text, size);
}

/* The slot that holds the string, or the free one where it belongs. */
static struct strtab_slot *find_slot(const struct strtab *table, const char *text, size_t size, uint32_t hash)
{
	invariant(table->used < table->n_slots); /* else the search would not end */
	return &table->slots[PROBE(i, hash, table->n_slots - 1,
				   !table->slots[i].strp ||
					   slot_has(table, &table->slots[i], text, size, hash))];
}

/* Slots move by their stored hash: no string is read again. */
static int grow_slots(struct strtab *table)
{
	size_t n = table->n_slots * 2;
	struct strtab_slot *slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < table->n_slots; i++)
		if (table->slots[i].strp)
			slots[PROBE(k, table->slots[i].hash, n - 1, !slots[k].strp)] = table->slots[i];
	free(table->slots);
	table->slots = slots;
	table->n_slots = n;
	return 0;
}

int strtab_extend(struct strtab *table, size_t size, char **ret)
{
	if (size > table->limit - table->n)
		return -EOVERFLOW;
	if (vec_reserve_((void **)&table->bytes, table->n, &table->cap, size, 1))
		return -ENOMEM;
	*ret = table->bytes + table->n;
	table->n += size;
	return 0;
}

static int append_text(struct strtab *table, const char *text, size_t size)
{
	char *at;
	if (size >= UINT32_MAX)
		return -EOVERFLOW;
	int err = strtab_extend(table, size + 1, &at);
	if (err)
		return err;
	memcpy(at, text, size);
	at[size] = 0;
	return 0;
}

int strtab_add(struct strtab *table, const char *text, size_t size, uint64_t *ret)
{
	if (!size) {
		*ret = 0;
		return 0;
	}
	if (table->used >= table->n_slots / 2 && grow_slots(table))
		return -ENOMEM;
	uint32_t hash = (uint32_t)XXH3_64bits(text, size);
	struct strtab_slot *slot = find_slot(table, text, size, hash);
	if (!slot->strp) {
		if (memchr(text, 0, size))
			return -EINVAL;
		uint64_t strp = table->n;
		int err = append_text(table, text, size);
		if (err)
			return err;
		*slot = (struct strtab_slot){.strp = strp, .size = (uint32_t)size, .hash = hash};
		table->used++;
	}
	*ret = slot->strp;
	return 0;
}

/* ---- The file table ---- */

enum {
	FILE_SLOTS_MIN = 256,
};

int filetab_init(struct filetab *files)
{
	struct filetab_entry none = {0, 0};
	*files = (struct filetab){.entries.n = 0};
	if (index_table_init(&files->table, FILE_SLOTS_MIN) || vec_push(&files->entries, none)) {
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
