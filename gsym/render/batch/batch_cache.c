#include "gsym/render/batch/batch_cache.h"

#include "gsym/base/put.h"

#include <sys/mman.h>

enum {
	FEW = 32, /* queries; for fewer the cache is not set up */
	ARENA_MAX = 48 << 20,
	ARENA_SMALL = 1 << 20, /* in normal pages; huge pages from there on */
	ARENA_ALIGN = REF_LINES + 1,
	ARENA_USED_MAX = ARENA_MAX - PUT_SLACK, /* the slack after the last text is readable */
	TEXT_MAX = 4096,                        /* bytes; longer ones are not kept */
	NAMES_LOG2 = 16,
	FLAT_SLOTS_MAX = 1 << 20,
	FLAT_SLOTS_MIN = 1 << 10,
	ASKED_FOR_STARTS =
		8, /* an index of functions is made once there were a query for as many functions */
};

/* The first object in the arena: stands for texts that are not cached. */
enum { TOO_LONG = ARENA_ALIGN };

static void forget(struct batch_cache *cache)
{
	cache->emptied = cache->is_set_up;
	cache->is_set_up = true;
	cache->full = false;
	cache->used = TOO_LONG;
	*(struct cached_text *)batch_cache_alloc(cache, sizeof(struct cached_text)) =
		(struct cached_text){.too_long = true};
	memset(cache->flat, 0, cache->n_flat * sizeof(*cache->flat));
	memset(cache->names, 0, sizeof(*cache->names) << NAMES_LOG2);
	memset(cache->paths, 0, sizeof(*cache->paths) * PATH_SLOTS);
}

void batch_cache_deinit(struct batch_cache *cache)
{
	if (cache->arena)
		munmap(cache->arena, ARENA_MAX);
	start_index_deinit(&cache->starts);
	intervals_deinit(&cache->intervals);
	free(cache->flat);
	free(cache->names);
	free(cache->paths);
	text_deinit(&cache->text);
	*cache = (struct batch_cache){.reader = cache->reader};
}

size_t batch_cache_bytes(const struct batch_cache *cache)
{
	size_t tables = cache->n_flat * sizeof(*cache->flat) + (sizeof(*cache->names) << NAMES_LOG2) +
			sizeof(*cache->paths) * PATH_SLOTS;
	size_t room = cache->emptied ? ARENA_MAX : cache->used; /* pages are not returned */
	return (cache->arena ? room : 0) + cache->starts.n_buckets * sizeof(*cache->starts.before) +
	       (cache->is_set_up ? tables : 0);
}

static size_t flat_slots_wanted(const struct gsym_reader *reader)
{
	size_t n = FLAT_SLOTS_MIN;
	while (n < FLAT_SLOTS_MAX && n < reader->info.num_addresses)
		n *= 2;
	return n;
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
	(void)madvise(cache->arena + ARENA_SMALL, ARENA_MAX - ARENA_SMALL,
		      MADV_HUGEPAGE); /* else they stay small */
}

static bool make_tables(struct batch_cache *cache)
{
	if (!cache->arena)
		map_arena(cache);
	if (!cache->flat) {
		cache->n_flat = flat_slots_wanted(cache->reader);
		cache->flat = calloc(cache->n_flat, sizeof(*cache->flat));
	}
	if (!cache->names)
		cache->names = calloc(1 << NAMES_LOG2, sizeof(*cache->names));
	if (!cache->paths)
		cache->paths = calloc(PATH_SLOTS, sizeof(*cache->paths));
	return cache->arena && cache->flat && cache->names && cache->paths;
}

/* Building the index reads all start addresses, which pays after enough queries. */
static void count_queries(struct batch_cache *cache, size_t n)
{
	size_t most = cache->reader->info.num_addresses / ASKED_FOR_STARTS;
	bool before = cache->asked > most;
	cache->asked += n;
	if (!before && cache->asked > most)
		(void)start_index_build(&cache->starts, cache->reader); /* it works without */
}

bool batch_cache_begin(struct batch_cache *cache, const struct render_options *options, size_t n)
{
	if (!cache->is_set_up || cache->format != options->format || cache->demangle != options->demangle) {
		if (n < FEW || !make_tables(cache))
			return false;
		forget(cache);
		cache->format = options->format;
		cache->demangle = options->demangle;
	}
	count_queries(cache, n);
	return true;
}

void batch_cache_refresh(struct batch_cache *cache)
{
	if (cache->full)
		forget(cache);
}

void *batch_cache_alloc(struct batch_cache *cache, size_t size)
{
	if (size > ARENA_USED_MAX - ARENA_ALIGN || cache->used > ARENA_USED_MAX - ARENA_ALIGN - size) {
		cache->full = true;
		return NULL;
	}
	void *at = cache->arena + cache->used;
	cache->used += (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	return at;
}

/* Caches the content of @cache->text: @shown bytes, followed by the linkage name if that differs. */
static arena_ref keep(struct batch_cache *cache, struct text_slot *slot, uint32_t key, size_t shown)
{
	size_t size = cache->text.n;
	struct cached_text *text;
	if (cache->text.failed || size > TEXT_MAX || !(text = batch_cache_alloc(cache, sizeof(*text) + size)))
		return TOO_LONG;
	*text = (struct cached_text){
		.shown = (uint16_t)shown,
		.linkage = size > shown ? (uint16_t)shown : 0,
		.end = (uint16_t)size,
	};
	if (size)
		memcpy(text->bytes, cache->text.v, size);
	size_t at = batch_cache_ref(cache, text),
	       lines = (at + sizeof(*text) + size - 1) / CACHE_LINE - at / CACHE_LINE;
	*slot = (struct text_slot){key, (arena_ref)(at | (lines < REF_LINES ? lines : REF_LINES))};
	return slot->text;
}

arena_ref batch_cache_name(struct batch_cache *cache, const struct render_options *options, uint32_t name)
{
	struct text_slot *slot = &cache->names[name * 0x9e3779b1U >> (32 - NAMES_LOG2)];
	const char *stored;
	if (slot->text && slot->key == name)
		return slot->text;
	if (!(stored = gsym_reader_string(cache->reader, name)))
		return 0;
	if (strnlen(stored, TEXT_MAX) == TEXT_MAX)
		return TOO_LONG;
	struct render_options plain = *options;
	plain.cache = NULL; /* this is one */
	text_reset(&cache->text);
	render_name(&cache->text, stored, &plain, render_format_of(cache->format)->style);
	size_t shown = cache->text.n;
	if (demangle_applies(stored, options->demangle))
		escape_str(&cache->text, stored, render_format_of(cache->format)->style);
	return keep(cache, slot, name, shown);
}

arena_ref batch_cache_path(struct batch_cache *cache, uint32_t file)
{
	arena_ref there = batch_cache_find_path(cache, file);
	const char *dir, *base;
	if (there || gsym_reader_file(cache->reader, file, &dir, &base))
		return there;
	if (strnlen(dir, TEXT_MAX) + strnlen(base, TEXT_MAX) >= TEXT_MAX)
		return TOO_LONG;
	text_reset(&cache->text);
	render_path(&cache->text, dir, base, render_format_of(cache->format)->style);
	return keep(cache, &cache->paths[file & (PATH_SLOTS - 1)], file, cache->text.n);
}
