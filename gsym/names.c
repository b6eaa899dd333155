/*
 * The index is a table of (hash, function) in the order of buckets, which the upper bits of the hash choose; within a bucket
 * functions ascend, as each pass over them goes upwards. The names themselves stay in the file: a search compares
 * them there. The hash has a secret, so that a file cannot be written to put all names into one bucket.
 */
#include "names.h"

#include "merged.h"

#include <stdatomic.h>
#include <xxhash.h>

enum {
	HASHED_MAX = 1024,    /* of a name: a hostile file may have one string of a gigabyte for every function */
	MERGED_SIZE_MIN = 20, /* of a merged function in the file, see merged.c */
	BUCKET_BITS_MAX = 24,
	NO_INDEX = UINT32_MAX,
};

struct entry {
	uint32_t hash;
	uint32_t index;
};

struct name_index {
	uint64_t secret;
	unsigned shift;    /* hash >> shift is the bucket */
	size_t *buckets;   /* where each begins in entries, and the end */
	struct entry *entries;
};

struct builder {
	const struct gsym_reader *reader;
	uint64_t secret;
	VEC(struct entry) found;
	/* Names of merged functions that may still be added. Records of a damaged file can share them, or it would hold. */
	uint64_t budget;
};

void name_index_free(struct name_index *names)
{
	if (!names)
		return;
	free(names->buckets);
	free(names->entries);
	free(names);
}

static uint32_t hash_name(const char *name, size_t size, uint64_t secret)
{
	return (uint32_t)(XXH3_64bits_withSeed(name, size < HASHED_MAX ? size : HASHED_MAX, secret) >> 32);
}

static int add_name(struct builder *b, uint64_t strp, uint32_t index)
{
	const char *name = gsym_reader_string(b->reader, strp);
	if (!name)
		return 0;
	struct entry e = {hash_name(name, strnlen(name, HASHED_MAX), b->secret), index};
	return vec_push(&b->found, e);
}

/* The block of functions folded onto @record, behind their number. A damaged one has none. */
static uint32_t open_merged(const struct record *record, struct cursor *ret)
{
	uint32_t count = 0;
	*ret = record->blocks[InfoType_MergedFunctionsInfo];
	if (record_has(record, InfoType_MergedFunctionsInfo) && merged_count(ret, &count, NULL))
		count = 0;
	return count;
}

/* The next of them: its name, and its bytes of code. */
static bool next_merged(const struct gsym_reader *reader, struct cursor *merged, uint64_t *ret_strp, uint32_t *ret_size)
{
	struct cursor c;
	if (merged_next(merged, &c, NULL))
		return false;
	*ret_size = cursor_u32(&c);
	*ret_strp = cursor_uint(&c, reader->info.strp_size);
	return cursor_ok(&c);
}

static int add_merged(struct builder *b, const struct record *record, uint32_t index)
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

static int add_all(struct builder *b)
{
	struct record record;
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
static int sort(struct name_index *names, const struct builder *b)
{
	size_t n = b->found.n, count = (size_t)1 << (32 - names->shift), sum = 0;
	names->buckets = calloc(count + 1, sizeof(*names->buckets));
	names->entries = malloc((n ? n : 1) * sizeof(*names->entries));
	if (!names->buckets || !names->entries)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		names->buckets[b->found.v[i].hash >> names->shift]++;
	for (size_t i = 0; i <= count; i++) {
		size_t here = names->buckets[i];
		names->buckets[i] = sum;
		sum += here;
	}
	/* Each beginning moves to its bucket's end while it is filled: that is the next one's beginning. */
	for (size_t i = 0; i < n; i++)
		names->entries[names->buckets[b->found.v[i].hash >> names->shift]++] = b->found.v[i];
	memmove(names->buckets + 1, names->buckets, count * sizeof(*names->buckets));
	names->buckets[0] = 0;
	return 0;
}

static struct name_index *name_index_new(const struct gsym_reader *reader)
{
	unsigned bits = 1;
	struct name_index *names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;
	names->secret = (uintptr_t)names; /* not known to who wrote the file */
	struct builder b = {.reader = reader, .secret = names->secret, .budget = reader->bytes.size / MERGED_SIZE_MIN};
	int err = add_all(&b);
	while (bits < BUCKET_BITS_MAX && (size_t)2 << bits <= b.found.n)
		bits++;
	names->shift = 32 - bits;
	if (!err)
		err = sort(names, &b);
	vec_free(&b.found);
	if (!err)
		return names;
	name_index_free(names);
	return NULL;
}

/* The index, made and published by whoever is first; a thread that made it in vain drops its own. */
static const struct name_index *get(const struct gsym_reader *reader)
{
	_Atomic(struct name_index *) *slot = (_Atomic(struct name_index *) *)&reader->names; /* of caches, as hosts */
	struct name_index *there = atomic_load_explicit(slot, memory_order_acquire);
	if (there)
		return there;
	struct name_index *made = name_index_new(reader);
	if (!made)
		return NULL;
	if (atomic_compare_exchange_strong(slot, &there, made))
		return made;
	name_index_free(made);
	return there;
}

int name_search_begin(struct name_search *ret, const struct gsym_reader *reader, const char *name, size_t size)
{
	const struct name_index *names = get(reader);
	if (!names)
		return -ENOMEM;
	uint32_t hash = hash_name(name, size, names->secret);
	*ret = (struct name_search){.reader = reader, .name = name, .name_size = size, .hash = hash, .last = NO_INDEX};
	if (memchr(name, 0, size))
		return 0; /* no stored name has a NUL in it */
	ret->at = names->buckets[hash >> names->shift];
	ret->end = names->buckets[(hash >> names->shift) + 1];
	return 0;
}

static bool is_wanted(const struct name_search *search, uint64_t strp)
{
	const char *name = gsym_reader_string(search->reader, strp);
	return name && strncmp(name, search->name, search->name_size) == 0 && !name[search->name_size];
}

/* The first body of function @index that has the name. */
static bool find_body(const struct name_search *search, uint32_t index, struct name_hit *ret)
{
	struct record record;
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
	const struct entry *entries = search->reader->names->entries;
	while (search->at < search->end) {
		const struct entry *e = &entries[search->at++];
		if (e->hash != search->hash || e->index == search->last) /* several bodies of one record */
			continue;
		search->last = e->index;
		if (find_body(search, e->index, ret))
			return true;
	}
	return false;
}
