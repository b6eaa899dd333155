#include "gsym/render/demangle/demangle_cache.h"

enum {
	SLOTS_LOG2 = 13,
	TEXT_MAX = 1024, /* longer ones are not cached, so that a full cache takes at most 8 MiB */
};

struct demangle_slot {
	const char *name; /* NULL = free */
	char *text;
	uint32_t size;
};

struct demangle_cache {
	size_t bytes; /* of texts */
	struct demangle_slot slots[1 << SLOTS_LOG2];
};

struct demangle_cache *demangle_cache_new(void)
{
	return calloc(1, sizeof(struct demangle_cache));
}

void demangle_cache_free(struct demangle_cache *cache)
{
	for (size_t i = 0; cache && i < ARRAY_SIZE(cache->slots); i++)
		free(cache->slots[i].text);
	free(cache);
}

size_t demangle_cache_bytes(const struct demangle_cache *cache)
{
	return cache ? sizeof(*cache) + cache->bytes : 0;
}

/* Multiplicative hashing: neighbours in a string table differ in their low bits only. */
static struct demangle_slot *slot_of(struct demangle_cache *cache, const char *name)
{
	return &cache->slots[((uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15) >> (64 - SLOTS_LOG2)];
}

/* Replaces the text of the slot. Without memory the slot is unchanged. */
static void keep_name(struct demangle_cache *cache, struct demangle_slot *slot, const char *name,
		      const char *text, size_t size)
{
	char *copy = malloc(size);
	if (!copy)
		return;
	memcpy(copy, text, size);
	cache->bytes += size - slot->size;
	free(slot->text);
	*slot = (struct demangle_slot){name, copy, (uint32_t)size};
}

void demangle_cached(struct demangle_cache *cache, struct text_buf *out, const char *name,
		     enum demangle_mode mode)
{
	struct demangle_slot *slot = cache ? slot_of(cache, name) : NULL;
	size_t start = out->n;
	if (slot && slot->name == name) {
		text_bytes(out, slot->text, slot->size);
		return;
	}
	demangle_append(out, name, mode);
	size_t size = out->n - start;
	if (slot && !out->failed && size > 0 && size <= TEXT_MAX)
		keep_name(cache, slot, name, out->v + start, size);
}
