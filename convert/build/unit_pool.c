/*
 * unit_pool.c - what one unit's records refer to: names, files, and copies of rows and calls.
 *
 * Names are cached by the offset of their entry in an open-addressing table (probe.h), which a new generation
 * number empties between units. Strings and files are numbered within the unit; merging renumbers them.
 */
#include "convert/build/unit_builder.h"

#include "convert/dwarf/dwarf_stream.h"
#include "gsym/base/probe.h"

#include <string.h>

enum {
	/* longer ones are truncated: thousands of names could be suffixes of one long string */
	NAME_MAX_SIZE = 32 * 1024,
};
/* ---- Strings ---- */

/* Whether the result gets copies of strings: the file is closed before it is used; a package stays open. */
static bool owns_strings(const struct unit_builder *b)
{
	return b->context->closes || (b->is_split && b->split->object);
}

static int keep_string(struct unit_builder *b, struct pool_string *string)
{
	return text_set_keep(&b->texts, &b->arena, string);
}

/* ---- Files ---- */

int builder_file(struct unit_builder *b, uint64_t index, uint32_t *ret)
{
	if (!line_table_has_file(&b->lines, index)) {
		*ret = 0;
		return index == 0 && b->lines.version < 5 ? 0 : -ENOENT;
	}
	uint32_t known = b->file_map.v[index];
	*ret = known == FILE_REFUSED ? 0 : known;
	if (known)
		return 0;
	struct span dir, base;
	int err = line_table_path(&b->lines, &b->unit, index, &b->made, &dir, &base);
	if (err == -EDQUOT) { /* no file, rather than no row */
		b->file_map.v[index] = FILE_REFUSED;
		return 0;
	}
	if (err)
		return err;
	struct unit_file file = {pool_string_of((const char *)dir.data, dir.size),
				 pool_string_of((const char *)base.data, base.size)};
	if (keep_string(b, &file.dir) || keep_string(b, &file.base) || vec_push(&b->files, file))
		return -ENOMEM;
	*ret = b->file_map.v[index] = (uint32_t)b->files.n;
	return 0;
}

int builder_reset_files(struct unit_builder *b)
{
	size_t n = b->lines.files.n + 1; /* before version 5 the first file has index 1 */
	b->file_map.n = 0;
	if (vec_reserve(&b->file_map, n))
		return -ENOMEM;
	memset(b->file_map.v, 0, n * sizeof(*b->file_map.v));
	b->file_map.n = n;
	return 0;
}

/* ---- Names ---- */

static struct name_slot *find_slot(struct name_slot *slots, size_t mask, uint32_t generation, uint64_t key)
{
	uint64_t x = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;
	return &slots[PROBE(i, x ^ x >> 32, mask, slots[i].generation != generation || slots[i].key == key)];
}

static int grow_slots(struct unit_builder *b)
{
	size_t mask = b->slot_mask * 2 + 1;
	struct name_slot *slots = calloc(mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i <= b->slot_mask; i++)
		if (b->slots[i].generation == b->generation)
			*find_slot(slots, mask, b->generation, b->slots[i].key) = b->slots[i];
	free(b->slots);
	b->slots = slots;
	b->slot_mask = mask;
	return 0;
}

/* @made: @text is in b->made, and paid for */
static int add_string(struct unit_builder *b, const char *text, bool made, uint32_t *ret)
{
	struct budget *budget = &b->unit.budget;
	/* A string of a section is lost before the result is used when its file is closed, or its unit. */
	bool lost = owns_strings(b) || dwarf_is_transient(b->unit.dwarf, text);
	*ret = NO_STRING;
	int64_t size = text ? budget_text(budget, ACCOUNT_NAMES, text, NAME_MAX_SIZE) : -1;
	if (size < 0 || (lost && !budget_memory(budget, ACCOUNT_NAMES, (uint64_t)size)))
		return 0;
	struct pool_string string = pool_string_of(text, (size_t)size);
	*ret = (uint32_t)b->strings.n;
	if ((lost || made) && keep_string(b, &string))
		return -ENOMEM;
	return vec_push(&b->strings, string);
}

int builder_name(struct unit_builder *b, uint64_t key, struct name_slot *ret)
{
	struct name_slot *slot = find_slot(b->slots, b->slot_mask, b->generation, key);
	if (slot->generation == b->generation) {
		*ret = *slot;
		return 0;
	}
	struct die_name name;
	int err = names_resolve(b->names, &b->unit, key, &b->made, &name);
	if (err)
		return err;
	struct name_slot new = {.key = key, .generation = b->generation, .linkage = name.linkage};
	if (add_string(b, name.text, name.bare != NULL, &new.string) ||
	    add_string(b, name.bare, false, &new.bare))
		return -ENOMEM;
	*slot = *ret = new;
	return ++b->n_names * 2 > b->slot_mask ? grow_slots(b) : 0;
}

/* ---- Records ---- */

/* Copies an array from scratch to @arena; NULL if it is empty. */
static int keep_copy(struct arena *arena, const void *v, size_t n, size_t elem, void *ret)
{
	void *copy = n ? arena_array(arena, n, elem) : NULL;
	if (n && !copy)
		return -ENOMEM;
	if (n)
		memcpy(copy, v, n * elem);
	memcpy(ret, &copy, sizeof(copy));
	return 0;
}

int builder_keep_record(struct unit_builder *b, struct func_record *r)
{
	if (!budget_memory(&b->unit.budget, ACCOUNT_RECORDS, sizeof(*r)))
		return 0;
	struct budget *budget = &b->unit.budget;
	if (!budget_memory(budget, ACCOUNT_ROWS, b->rows.n * sizeof(*b->rows.v)))
		b->rows.n = 0;
	if (!budget_memory(budget, ACCOUNT_CALLS,
			   b->inlines.n * sizeof(*b->inlines.v) +
				   b->inline_ranges.n * sizeof(*b->inline_ranges.v)))
		b->inlines.n = b->inline_ranges.n = 0;
	if (!budget_memory(budget, ACCOUNT_CALLS,
			   b->callsites.n * sizeof(*b->callsites.v) + b->patterns.n * sizeof(*b->patterns.v)))
		b->callsites.n = b->patterns.n = 0;
	if (r->kind == RECORD_LINES && !b->rows.n)
		return 0; /* rows are all that it is for */
	r->n_rows = (uint32_t)b->rows.n;
	r->n_inlines = (uint32_t)b->inlines.n;
	r->n_ranges = (uint32_t)b->inline_ranges.n;
	r->n_callsites = (uint32_t)b->callsites.n;
	r->n_patterns = (uint32_t)b->patterns.n;
	if (keep_copy(&b->arena, b->rows.v, b->rows.n, sizeof(*r->rows), &r->rows) ||
	    keep_copy(&b->arena, b->inlines.v, b->inlines.n, sizeof(*r->inlines), &r->inlines) ||
	    keep_copy(&b->arena, b->inline_ranges.v, b->inline_ranges.n, sizeof(*r->ranges), &r->ranges) ||
	    keep_copy(&b->arena, b->callsites.v, b->callsites.n, sizeof(*r->callsites), &r->callsites) ||
	    keep_copy(&b->arena, b->patterns.v, b->patterns.n, sizeof(*r->patterns), &r->patterns))
		return -ENOMEM;
	return vec_push(&b->records, *r);
}

int builder_keep_result(struct unit_builder *b, struct unit_result *ret)
{
	ret->n_records = (uint32_t)b->records.n;
	ret->n_strings = (uint32_t)b->strings.n;
	ret->n_files = (uint32_t)b->files.n;
	if (keep_copy(&b->arena, b->records.v, b->records.n, sizeof(*ret->records), &ret->records) ||
	    keep_copy(&b->arena, b->strings.v, b->strings.n, sizeof(*ret->strings), &ret->strings) ||
	    keep_copy(&b->arena, b->files.v, b->files.n, sizeof(*ret->files), &ret->files))
		return -ENOMEM;
	return 0;
}
