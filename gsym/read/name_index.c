/*
 * The index is a table of (hash, function) sorted by bucket, which the upper bits of the hash select, with
 * a counting sort; within a bucket functions ascend. Names themselves stay in the file: a search compares
 * them there. The hash is seeded with a secret, so that a file cannot be crafted to put all names into one
 * bucket.
 */
#include "gsym/read/name_index.h"

#include "gsym/base/invariant.h"
#include "gsym/codec/record.h"
#include "gsym/read/built_index.h"

#include <xxhash.h>

enum {
	HASHED_MAX =
		1024, /* of a name: a hostile file may have one string of a gigabyte for every function */
	MERGED_SIZE_MIN = 20, /* of a merged function in the file, see merged.c */
	BUCKET_BITS_MAX = 24,
	NO_INDEX = UINT32_MAX,
};

struct name_entry {
	uint32_t hash;
	uint32_t index;
};

struct name_table {
	struct built_index built;
	uint64_t secret;
	unsigned shift;  /* hash >> shift is the bucket */
	size_t *buckets; /* where each begins in entries, and the end */
	struct name_entry *entries;
	VEC(struct name_entry) found; /* while it is built */
};

static void clear(struct built_index *built)
{
	struct name_table *table = (struct name_table *)built;
	free(table->buckets);
	free(table->entries);
	table->buckets = NULL;
	table->entries = NULL;
	vec_free(&table->found);
}

void name_table_free(struct name_table *table)
{
	if (table)
		clear(&table->built);
	free(table);
}

uint64_t name_table_secret(const struct name_table *table)
{
	return table->secret;
}

uint32_t name_hash(const char *name, size_t size, uint64_t secret)
{
	return (uint32_t)(XXH3_64bits_withSeed(name, size < HASHED_MAX ? size : HASHED_MAX, secret) >> 32);
}

static unsigned hash_stored(void *user, const char *name, uint64_t secret, uint32_t ret[NAME_HASHES_MAX])
{
	(void)user;
	ret[0] = name_hash(name, strnlen(name, HASHED_MAX), secret);
	return 1;
}

static int add_name(struct name_builder *b, uint64_t strp, uint32_t index)
{
	const char *name = gsym_reader_string(b->reader, strp);
	uint32_t hashes[NAME_HASHES_MAX];
	unsigned n = name ? b->hashes(b->user, name, b->table->secret, hashes) : 0;
	if (vec_reserve(&b->table->found, n))
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		b->table->found.v[b->table->found.n++] = (struct name_entry){hashes[i], index};
	return 0;
}

/* The block of functions merged with @record, after their count. A damaged block counts as empty. */
static uint32_t open_merged(const struct function_info *record, struct cursor *ret)
{
	uint32_t count = 0;
	*ret = record->blocks[InfoType_MergedFunctionsInfo];
	if (record_has(record, InfoType_MergedFunctionsInfo) && merged_count(ret, &count, NULL))
		count = 0;
	return count;
}

/* The next of them: its name, and its bytes of code. */
static bool next_merged(const struct gsym_reader *reader, struct cursor *merged, uint64_t *ret_strp,
			uint32_t *ret_size)
{
	struct cursor c;
	if (merged_next(merged, &c, NULL))
		return false;
	*ret_size = cursor_u32(&c);
	*ret_strp = cursor_uint(&c, reader->info.strp_size);
	return cursor_ok(&c);
}

static int add_merged(struct name_builder *b, const struct function_info *record, uint32_t index)
{
	struct cursor merged;
	uint64_t strp;
	uint32_t size, left = open_merged(record, &merged);
	for (; left && b->budget && next_merged(b->reader, &merged, &strp, &size); left--, b->budget--) {
		if (add_name(b, strp, index))
			return -ENOMEM;
	}
	return 0;
}

static int add_all(struct name_builder *b)
{
	struct function_info record;
	int err = 0;
	for (uint32_t i = 0; !err && i < b->reader->info.num_addresses; i++) {
		if (reader_parse_record(b->reader, i, &record, NULL))
			continue;
		err = add_name(b, record.name, i);
		if (!err)
			err = add_merged(b, &record, i);
	}
	return err;
}

/* Sorts what was found by bucket. */
static int sort(struct name_table *names)
{
	size_t n = names->found.n, count = (size_t)1 << (32 - names->shift), sum = 0;
	names->buckets = calloc(count + 1, sizeof(*names->buckets));
	names->entries = malloc((n ? n : 1) * sizeof(*names->entries));
	if (!names->buckets || !names->entries)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		names->buckets[names->found.v[i].hash >> names->shift]++;
	for (size_t i = 0; i <= count; i++) {
		size_t here = names->buckets[i];
		names->buckets[i] = sum;
		sum += here;
	}
	invariant(sum == n);
	/* Filling moves each start to the end of its bucket, which is the start of the next. */
	for (size_t i = 0; i < n; i++)
		names->entries[names->buckets[names->found.v[i].hash >> names->shift]++] = names->found.v[i];
	memmove(names->buckets + 1, names->buckets, count * sizeof(*names->buckets));
	names->buckets[0] = 0;
	vec_free(&names->found);
	return 0;
}

int name_builder_run(struct name_builder *b)
{
	unsigned bits = 1;
	if (!b->table)
		b->table = calloc(1, sizeof(*b->table));
	if (!b->table)
		return -ENOMEM;
	b->table->built.clear = clear;
	b->table->secret = (uintptr_t)b->table; /* unpredictable for the author of the file */
	b->budget = b->reader->bytes.size / MERGED_SIZE_MIN;
	if (!b->hashes)
		b->hashes = hash_stored;
	int err = add_all(b);
	while (bits < BUCKET_BITS_MAX && (size_t)2 << bits <= b->table->found.n)
		bits++;
	b->table->shift = 32 - bits;
	return err ? err : sort(b->table);
}

void name_builder_deinit(struct name_builder *b)
{
	name_table_free(b->table);
	b->table = NULL;
}

/* ---- The index of stored names ---- */

bool name_index_is_made(const struct gsym_reader *reader)
{
	return built_index_find(&reader->names);
}

void name_index_publish(const struct gsym_reader *reader, struct name_table *table)
{
	built_index_add(&reader->names, &table->built);
}

static int build(struct built_index *built, const struct gsym_reader *reader)
{
	struct name_builder b = {.reader = reader, .table = (struct name_table *)built};
	return name_builder_run(&b);
}

static bool is_stored(const struct name_search *search, const char *stored)
{
	return strncmp(stored, search->name, search->name_size) == 0 && !stored[search->name_size];
}

int name_search_begin(struct name_search *ret, const struct gsym_reader *reader, const char *name,
		      size_t size)
{
	const struct name_table *names = (const struct name_table *)built_index_get(
		reader, &reader->names, sizeof(*names), build, clear);
	if (!names)
		return -ENOMEM;
	*ret = (struct name_search){.reader = reader, .name = name, .name_size = size, .is_it = is_stored};
	if (!memchr(name, 0, size)) /* no stored name has a NUL in it */
		name_search_hash(ret, names, name_hash(name, size, names->secret));
	return 0;
}

void name_search_hash(struct name_search *search, const struct name_table *table, uint32_t hash)
{
	search->table = table;
	search->hash = hash;
	search->last = NO_INDEX;
	search->at = table->buckets[hash >> table->shift];
	search->end = table->buckets[(hash >> table->shift) + 1];
}

static bool is_wanted(const struct name_search *search, uint64_t strp)
{
	const char *name = gsym_reader_string(search->reader, strp);
	return name && search->is_it(search, name);
}

/* The first body of function @index that has the name. */
static bool find_body(const struct name_search *search, uint32_t index, struct name_hit *ret)
{
	struct function_info record;
	struct cursor merged;
	uint64_t strp;
	if (reader_parse_record(search->reader, index, &record, NULL))
		return false;
	*ret = (struct name_hit){.index = index, .size = record.size};
	if (is_wanted(search, record.name))
		return true;
	for (uint32_t left = open_merged(&record, &merged); left; left--) {
		ret->which++;
		if (!next_merged(search->reader, &merged, &strp, &ret->size))
			return false;
		if (is_wanted(search, strp))
			return true;
	}
	return false;
}

bool name_search_next(struct name_search *search, struct name_hit *ret)
{
	while (search->at < search->end) {
		const struct name_entry *e = &search->table->entries[search->at++];
		if (e->hash != search->hash || e->index == search->last) /* several bodies of one record */
			continue;
		search->last = e->index;
		if (find_body(search, e->index, ret))
			return true;
	}
	return false;
}
