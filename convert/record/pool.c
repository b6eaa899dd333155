/*
 * pool.c - interning of strings and files by open addressing. Texts are borrowed, never copied.
 */
#include "convert/record/pool.h"

#include <string.h>
#include <xxhash.h>

enum { FIRST_SLOTS = 1024 };

struct pool_string pool_string_of(const char *text, size_t size)
{
	if (size > UINT32_MAX)
		size = UINT32_MAX;
	return (struct pool_string){text, XXH3_64bits(text, size), (uint32_t)size};
}

static uint64_t file_hash(struct pool_file file)
{
	uint64_t x = ((uint64_t)file.dir << 32 | file.base) * 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

int pool_init(struct pool *pool)
{
	*pool = (struct pool){.string_mask = FIRST_SLOTS - 1, .file_mask = FIRST_SLOTS - 1};
	pool->string_slots = calloc(FIRST_SLOTS, sizeof(*pool->string_slots));
	pool->file_slots = calloc(FIRST_SLOTS, sizeof(*pool->file_slots));
	struct pool_string empty = pool_string_of("", 0);
	uint32_t zero;
	if (!pool->string_slots || !pool->file_slots || pool_add_string(pool, &empty, &zero) ||
	    pool_add_file(pool, (struct pool_file){0, 0}, &zero))
		return -ENOMEM;
	return 0;
}

void pool_deinit(struct pool *pool)
{
	vec_free(&pool->strings);
	vec_free(&pool->files);
	free(pool->string_slots);
	free(pool->file_slots);
}

static void slot_put(uint32_t *slots, size_t mask, uint64_t hash, uint32_t index)
{
	size_t i = hash & mask;
	while (slots[i])
		i = (i + 1) & mask;
	slots[i] = index + 1;
}

/* A table of twice the size, still empty, or NULL. */
static uint32_t *slots_grow(size_t mask)
{
	return mask < SIZE_MAX / 4 / sizeof(uint32_t) ? calloc((mask + 1) * 2, sizeof(uint32_t)) : NULL;
}

static int strings_grow(struct pool *pool)
{
	uint32_t *slots = slots_grow(pool->string_mask);
	if (!slots)
		return -ENOMEM;
	pool->string_mask = pool->string_mask * 2 + 1;
	for (size_t i = 0; i < pool->strings.n; i++)
		slot_put(slots, pool->string_mask, pool->strings.v[i].hash, (uint32_t)i);
	free(pool->string_slots);
	pool->string_slots = slots;
	return 0;
}

static int files_grow(struct pool *pool)
{
	uint32_t *slots = slots_grow(pool->file_mask);
	if (!slots)
		return -ENOMEM;
	pool->file_mask = pool->file_mask * 2 + 1;
	for (size_t i = 0; i < pool->files.n; i++)
		slot_put(slots, pool->file_mask, file_hash(pool->files.v[i]), (uint32_t)i);
	free(pool->file_slots);
	pool->file_slots = slots;
	return 0;
}

int pool_add_string(struct pool *pool, const struct pool_string *s, uint32_t *ret)
{
	for (size_t i = s->hash & pool->string_mask; pool->string_slots[i]; i = (i + 1) & pool->string_mask) {
		const struct pool_string *t = &pool->strings.v[pool->string_slots[i] - 1];
		if (t->hash == s->hash && t->size == s->size && !memcmp(t->text, s->text, s->size)) {
			*ret = pool->string_slots[i] - 1;
			return 0;
		}
	}
	if (pool->strings.n * 2 > pool->string_mask && strings_grow(pool))
		return -ENOMEM;
	if (pool->strings.n >= NO_STRING - 1 || vec_push(&pool->strings, *s))
		return -ENOMEM;
	*ret = (uint32_t)(pool->strings.n - 1);
	slot_put(pool->string_slots, pool->string_mask, s->hash, *ret);
	return 0;
}

int pool_add_file(struct pool *pool, struct pool_file file, uint32_t *ret)
{
	uint64_t hash = file_hash(file);
	for (size_t i = hash & pool->file_mask; pool->file_slots[i]; i = (i + 1) & pool->file_mask) {
		const struct pool_file *t = &pool->files.v[pool->file_slots[i] - 1];
		if (t->dir == file.dir && t->base == file.base) {
			*ret = pool->file_slots[i] - 1;
			return 0;
		}
	}
	if (pool->files.n * 2 > pool->file_mask && files_grow(pool))
		return -ENOMEM;
	if (pool->files.n >= UINT32_MAX - 1 || vec_push(&pool->files, file))
		return -ENOMEM;
	*ret = (uint32_t)(pool->files.n - 1);
	slot_put(pool->file_slots, pool->file_mask, hash, *ret);
	return 0;
}
