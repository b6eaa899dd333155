#include "gsym/render/batch/batch_cache.h"

#include "gsym/base/probe.h"
#include "gsym/base/put.h"
#include "gsym/read/lookup.h"

#include <sys/mman.h>
#include <sys/random.h>

enum {
	FEW = 32, /* queries; for fewer the cache is not set up */
	TEXTS_MAX = 64 << 20,
	FUNCTIONS_MAX = 32 << 20,
	CHUNK_MAX = 32 << 20,
	ARENA_MAX = TEXTS_MAX + FUNCTIONS_MAX + CHUNK_MAX,
	PART_SMALL = 1 << 20, /* in normal pages; huge pages from there on */
	ARENA_ALIGN = REF_LINES + 1,
	TEXT_MAX = 32 << 10, /* bytes; longer ones are not kept */
	NAMES_MIN = 1 << 12,
	NAMES_MAX = 1 << 21, /* slots */
	FLAT_SLOTS_MAX = 1 << 20,
	SLOTS_MIN = 1 << 10,
	PATH_SLOTS_MAX = 1 << 18,
	ASKED_FOR_STARTS =
		8, /* an index of functions is made once there were a query for as many functions */
};

static_assert(TEXT_MAX <= UINT16_MAX, "sizes of texts have 16 bits");

/* Where parts begin, and the last one ends. */
static const size_t part_begin[CACHE_PARTS + 1] = {
	[PART_TEXTS] = 0,
	[PART_FUNCTIONS] = TEXTS_MAX,
	[PART_CHUNK] = TEXTS_MAX + FUNCTIONS_MAX,
	[CACHE_PARTS] = ARENA_MAX,
};

/* The first object in the arena: stands for texts that are not cached. */
enum { TOO_LONG = ARENA_ALIGN };

static void empty_part(struct batch_cache *cache, enum cache_part part)
{
	struct arena_part *at = &cache->parts[part];
	at->used = part_begin[part];
	at->most = at->most > at->used ? at->most : at->used;
}

void batch_cache_end_chunk(struct batch_cache *cache)
{
	struct chunk *chunk = &cache->chunk;
	chunk->places.n = chunk->next = chunk->keys.n = chunk->done = chunk->n_pending = 0;
	empty_part(cache, PART_CHUNK);
}

static void forget_functions(struct batch_cache *cache)
{
	cache->functions_full = false;
	empty_part(cache, PART_FUNCTIONS);
	batch_cache_end_chunk(cache);
	memset(cache->flat, 0, cache->n_flat * sizeof(*cache->flat));
	memset(cache->passes, 0, cache->n_flat * sizeof(*cache->passes));
}

static size_t aligned(size_t size)
{
	return (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
}

static void forget_texts_of(struct flat_calls *calls)
{
	for (size_t i = 0; i < calls->n; i++)
		calls->nodes[i].text = 0;
}

/* Functions outlive their texts. */
static void forget_node_texts(struct batch_cache *cache)
{
	const struct arena_part *functions = &cache->parts[PART_FUNCTIONS],
				*chunk = &cache->parts[PART_CHUNK];
	for (size_t at = part_begin[PART_FUNCTIONS], size; at < functions->used; at += size) {
		struct flat_function *flat = (struct flat_function *)(cache->arena + at);
		size = aligned((size_t)((char *)flat_calls(flat) - (char *)flat) +
			       flat_calls_size(flat_calls(flat)->n));
		forget_texts_of(flat_calls(flat));
	}
	for (size_t at = part_begin[PART_CHUNK], size; at < chunk->used; at += size) {
		struct flat_calls *calls = (struct flat_calls *)(cache->arena + at);
		size = aligned(flat_calls_size(calls->n));
		forget_texts_of(calls);
	}
}

static void forget_texts(struct batch_cache *cache)
{
	cache->texts_full = false;
	empty_part(cache, PART_TEXTS);
	cache->parts[PART_TEXTS].used = TOO_LONG;
	*(struct cached_text *)batch_cache_alloc(cache, PART_TEXTS, sizeof(struct cached_text)) =
		(struct cached_text){.too_long = true};
	memset(cache->names.slots, 0, (cache->names.mask + 1) * sizeof(*cache->names.slots));
	cache->names.n = 0;
	memset(cache->paths, 0, cache->n_paths * sizeof(*cache->paths));
	forget_node_texts(cache);
}

void batch_cache_deinit(struct batch_cache *cache)
{
	if (cache->arena)
		munmap(cache->arena, ARENA_MAX);
	start_index_deinit(&cache->starts);
	intervals_deinit(&cache->intervals);
	vec_free(&cache->chunk.places);
	vec_free(&cache->chunk.keys);
	free(cache->flat);
	free(cache->passes);
	free(cache->names.slots);
	free(cache->paths);
	text_deinit(&cache->text);
	*cache = (struct batch_cache){.reader = cache->reader};
}

size_t batch_cache_bytes(const struct batch_cache *cache)
{
	size_t tables = cache->n_flat * (sizeof(*cache->flat) + sizeof(*cache->passes)) +
			(cache->names.mask + 1) * sizeof(*cache->names.slots) +
			cache->n_paths * sizeof(*cache->paths);
	size_t sum = 0;
	for (size_t i = 0; cache->is_set_up && i < CACHE_PARTS; i++) {
		const struct arena_part *part = &cache->parts[i];
		sum += (part->used > part->most ? part->used : part->most) - part_begin[i];
	}
	return sum + cache->chunk.places.cap * sizeof(*cache->chunk.places.v) +
	       cache->chunk.keys.cap * sizeof(*cache->chunk.keys.v) +
	       cache->starts.n_buckets * sizeof(*cache->starts.before) + (cache->is_set_up ? tables : 0);
}

bool batch_cache_has_order(struct batch_cache *cache)
{
	if (cache->order == ORDER_UNKNOWN)
		cache->order =
			cache->starts.before || reader_starts_ascend(cache->reader) ? IN_ORDER : NOT_IN_ORDER;
	return cache->order == IN_ORDER;
}

/* A power of two: for @n objects, but at most @max. */
static size_t slots_for(size_t n, size_t max)
{
	size_t slots = SLOTS_MIN;
	while (slots < max && slots < n)
		slots *= 2;
	return slots;
}

/*
 * Pages are populated on first touch. With small pages, half of the time of a large batch would go into
 * page faults.
 */
static void map_arena(struct batch_cache *cache)
{
	void *room = mmap(NULL, ARENA_MAX, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return;
	cache->arena = room;
	for (size_t i = 0; i < CACHE_PARTS; i++) /* else they stay small */
		(void)madvise(cache->arena + part_begin[i] + PART_SMALL,
			      part_begin[i + 1] - part_begin[i] - PART_SMALL, MADV_HUGEPAGE);
}

static bool make_tables(struct batch_cache *cache)
{
	if (!cache->arena)
		map_arena(cache);
	if (!cache->flat) {
		cache->n_flat = slots_for(cache->reader->info.num_addresses, FLAT_SLOTS_MAX);
		cache->flat = calloc(cache->n_flat, sizeof(*cache->flat));
	}
	if (!cache->passes)
		cache->passes = calloc(cache->n_flat, sizeof(*cache->passes));
	if (!cache->names.slots) {
		cache->names.slots = calloc(NAMES_MIN, sizeof(*cache->names.slots));
		cache->names.mask = NAMES_MIN - 1;
		if (getrandom(&cache->names.secret, sizeof(cache->names.secret), GRND_NONBLOCK) !=
		    sizeof(cache->names.secret))
			cache->names.secret = (uintptr_t)cache->names.slots;
		cache->names.secret |= 1;
	}
	if (!cache->paths) {
		cache->n_paths = slots_for(cache->reader->info.num_files, PATH_SLOTS_MAX);
		cache->paths = calloc(cache->n_paths, sizeof(*cache->paths));
	}
	return cache->arena && cache->flat && cache->passes && cache->names.slots && cache->paths;
}

bool batch_cache_begin(struct batch_cache *cache, const struct render_options *options, size_t n)
{
	if (!cache->is_set_up || cache->format != options->format || cache->demangle != options->demangle) {
		if (n < FEW || !make_tables(cache))
			return false;
		cache->is_set_up = true;
		forget_functions(cache);
		forget_texts(cache);
		cache->format = options->format;
		cache->demangle = options->demangle;
	}
	/* Building the index reads all start addresses, which pays after enough queries. */
	size_t most = cache->reader->info.num_addresses / ASKED_FOR_STARTS;
	bool before = cache->asked > most;
	cache->asked += n;
	if (!before && cache->asked > most)
		(void)start_index_build(&cache->starts, cache->reader); /* it works without */
	return true;
}

void batch_cache_refresh(struct batch_cache *cache)
{
	if (cache->texts_full)
		forget_texts(cache);
	if (cache->functions_full && !batch_cache_has_chunk(cache))
		forget_functions(cache);
}

size_t batch_cache_room(const struct batch_cache *cache, enum cache_part part)
{
	/* The slack after the last text is readable. */
	return part_begin[part + 1] - PUT_SLACK - ARENA_ALIGN - cache->parts[part].used;
}

void *batch_cache_alloc(struct batch_cache *cache, enum cache_part part, size_t size)
{
	if (size > batch_cache_room(cache, part)) {
		cache->texts_full |= part == PART_TEXTS;
		cache->functions_full |= part == PART_FUNCTIONS;
		return NULL;
	}
	void *at = cache->arena + cache->parts[part].used;
	cache->parts[part].used += aligned(size);
	return at;
}

/*
 * Caches the content of @cache->text: @shown bytes, followed by the linkage name if that differs and is not
 * @stored, where it can be read.
 */
static arena_ref keep_text(struct batch_cache *cache, struct text_slot *slot, uint32_t key, size_t shown,
			   const struct span *stored)
{
	size_t size = cache->text.n;
	struct cached_text *text;
	if (cache->text.failed)
		return TOO_LONG;
	if (size > TEXT_MAX) { /* not to be made again */
		*slot = (struct text_slot){key, TOO_LONG};
		return TOO_LONG;
	}
	if (!(text = batch_cache_alloc(cache, PART_TEXTS, sizeof(*text) + size)))
		return TOO_LONG;
	*text = (struct cached_text){
		.shown = (uint16_t)shown,
		.linkage = stored ? stored->data : text->bytes + (size > shown ? shown : 0),
		.linkage_size = (uint16_t)(stored         ? stored->size
					   : size > shown ? size - shown
							  : size),
	};
	if (size)
		memcpy(text->bytes, cache->text.v, size);
	size_t at = batch_cache_ref(cache, text),
	       lines = (at + sizeof(*text) + size - 1) / CACHE_LINE - at / CACHE_LINE;
	*slot = (struct text_slot){key, (arena_ref)(at | (lines < REF_LINES ? lines : REF_LINES))};
	return slot->text;
}

static uint64_t name_hash(const struct text_table *names, uint32_t name)
{
	return (name * names->secret) >> 32;
}

static struct text_slot *name_slot(const struct text_table *names, uint32_t name)
{
	return &names->slots[PROBE(i, name_hash(names, name), names->mask,
				   !names->slots[i].text || names->slots[i].key == name)];
}

/* Twice the slots: false without memory, or when there are so many that the cache counts as full. */
static bool widen_names(struct batch_cache *cache)
{
	struct text_table wide = cache->names;
	wide.mask = 2 * wide.mask + 1;
	if (wide.mask >= NAMES_MAX) {
		cache->texts_full = true;
		return false;
	}
	wide.slots = calloc(wide.mask + 1, sizeof(*wide.slots));
	if (!wide.slots)
		return false;
	for (size_t i = 0; i <= cache->names.mask; i++)
		if (cache->names.slots[i].text)
			*name_slot(&wide, cache->names.slots[i].key) = cache->names.slots[i];
	free(cache->names.slots);
	cache->names = wide;
	return true;
}

static arena_ref keep_name(struct batch_cache *cache, const struct render_options *options, uint32_t name,
			   const struct span *stored)
{
	const struct output_format *format = render_format_of(cache->format);
	const char *text = (const char *)stored->data;
	struct render_options plain = *options;
	bool verbatim = false;
	plain.cache = NULL; /* this is one */
	text_reset(&cache->text);
	render_name(&cache->text, text, &plain, format->style);
	size_t shown = cache->text.n;
	if (demangle_applies(text, options->demangle)) {
		escape_bytes(&cache->text, text, stored->size, format->style);
		const struct span *file = &cache->reader->bytes;
		size_t after = file->size - (size_t)(stored->data - file->data) - stored->size;
		verbatim = !cache->text.failed && cache->text.n - shown == stored->size &&
			   after >= PUT_SLACK &&
			   memcmp(cache->text.v + shown, stored->data, stored->size) == 0;
		cache->text.n = verbatim ? shown : cache->text.n;
	}
	struct text_slot *slot = name_slot(&cache->names, name);
	arena_ref kept = keep_text(cache, slot, name, shown, verbatim ? stored : NULL);
	if (kept != TOO_LONG)
		((struct cached_text *)cached_text_at(cache, kept))->of_many = lookup_is_made_of_many(text);
	cache->names.n += slot->text != 0;
	return kept;
}

arena_ref batch_cache_name(struct batch_cache *cache, const struct render_options *options, uint32_t name)
{
	arena_ref there = name_slot(&cache->names, name)->text;
	const char *text = there ? NULL : gsym_reader_string(cache->reader, name);
	if (!text)
		return there;
	struct span stored = {(const uint8_t *)text, strnlen(text, TEXT_MAX)};
	if (stored.size == TEXT_MAX || (2 * cache->names.n > cache->names.mask && !widen_names(cache)))
		return TOO_LONG;
	return keep_name(cache, options, name, &stored);
}

void batch_cache_render_names(struct batch_cache *cache, const struct render_options *options,
			      struct flat_node *const *nodes, size_t n)
{
	const struct text_table *names = &cache->names;
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(&names->slots[name_hash(names, nodes[i]->name) & names->mask]);
	for (size_t i = 0; i < n; i++) {
		struct flat_node *node = nodes[i];
		node->text = node->text ? node->text : name_slot(names, node->name)->text;
		if (!node->text && tables_have_string(&cache->reader->tables, node->name))
			__builtin_prefetch(cache->reader->strings + node->name);
	}
	for (size_t i = 0; i < n && !cache->texts_full; i++)
		if (!nodes[i]->text)
			nodes[i]->text = batch_cache_name(cache, options, nodes[i]->name);
}

arena_ref batch_cache_path(struct batch_cache *cache, uint32_t file)
{
	arena_ref there = batch_cache_find_path(cache, file);
	const char *dir, *base;
	if (there || gsym_reader_file(cache->reader, file, &dir, &base))
		return there;
	if (cache->shown_dir)
		dir = cache->shown_dir(cache->shown_dir_user, dir);
	if (strnlen(dir, TEXT_MAX) + strnlen(base, TEXT_MAX) >= TEXT_MAX)
		return TOO_LONG;
	text_reset(&cache->text);
	render_path(&cache->text, dir, base, render_format_of(cache->format)->style);
	return keep_text(cache, &cache->paths[file & (cache->n_paths - 1)], file, cache->text.n, NULL);
}
