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
	struct pool_string empty = pool_string_of("", 0);
	uint32_t zero;
	*pool = (struct pool){.text_left = UINT64_MAX};
	if (index_table_init(&pool->string_table, FIRST_SLOTS) ||
	    index_table_init(&pool->file_table, FIRST_SLOTS) || pool_add_string(pool, &empty, &zero) ||
	    pool_add_file(pool, (struct pool_file){0, 0}, &zero))
		return -ENOMEM;
	return 0;
}

void pool_deinit(struct pool *pool)
{
	vec_free(&pool->strings);
	vec_free(&pool->files);
	index_table_deinit(&pool->string_table);
	index_table_deinit(&pool->file_table);
}

/* ---- Strings ---- */

static int widen_strings(struct pool *pool)
{
	if (index_table_widen(&pool->string_table))
		return -ENOMEM;
	for (size_t i = 0; i < pool->strings.n; i++)
		index_table_add(&pool->string_table, pool->strings.v[i].hash, i);
	return 0;
}

int pool_add_string(struct pool *pool, const struct pool_string *s, uint32_t *ret)
{
	const struct index_table *t = &pool->string_table;
	const struct pool_string *strings = pool->strings.v;
	uint32_t known = t->slots[PROBE(i, s->hash, t->mask,
					!t->slots[i] || pool_string_equals(&strings[t->slots[i] - 1], s))];
	if (known) {
		*ret = known - 1;
		return 0;
	}
	if (s->size > pool->text_left) {
		pool->exceeded = true;
		*ret = 0;
		return 0;
	}
	if (index_table_is_full(t, pool->strings.n) && widen_strings(pool))
		return -ENOMEM;
	if (pool->strings.n >= NO_STRING - 1 || vec_push(&pool->strings, *s))
		return -ENOMEM;
	pool->text_left -= s->size;
	*ret = (uint32_t)(pool->strings.n - 1);
	index_table_add(&pool->string_table, s->hash, *ret);
	return 0;
}

/* ---- Files ---- */

static bool is_file(const struct pool *pool, size_t index, struct pool_file file)
{
	return pool->files.v[index].dir == file.dir && pool->files.v[index].base == file.base;
}

static int widen_files(struct pool *pool)
{
	if (index_table_widen(&pool->file_table))
		return -ENOMEM;
	for (size_t i = 0; i < pool->files.n; i++)
		index_table_add(&pool->file_table, file_hash(pool->files.v[i]), i);
	return 0;
}

int pool_add_file(struct pool *pool, struct pool_file file, uint32_t *ret)
{
	const struct index_table *t = &pool->file_table;
	uint64_t hash = file_hash(file);
	uint32_t known =
		t->slots[PROBE(i, hash, t->mask, !t->slots[i] || is_file(pool, t->slots[i] - 1, file))];
	if (known) {
		*ret = known - 1;
		return 0;
	}
	if (index_table_is_full(t, pool->files.n) && widen_files(pool))
		return -ENOMEM;
	if (pool->files.n >= UINT32_MAX - 1 || vec_push(&pool->files, file))
		return -ENOMEM;
	*ret = (uint32_t)(pool->files.n - 1);
	index_table_add(&pool->file_table, hash, *ret);
	return 0;
}

/* ---- Texts that are kept once ---- */

void text_set_deinit(struct text_set *set)
{
	vec_free(&set->texts);
	index_table_deinit(&set->table);
}

static int widen_texts(struct text_set *set)
{
	if (!set->table.slots)
		return index_table_init(&set->table, FIRST_SLOTS);
	if (index_table_widen(&set->table))
		return -ENOMEM;
	for (size_t i = 0; i < set->texts.n; i++)
		index_table_add(&set->table, set->texts.v[i].hash, i);
	return 0;
}

static int add_text(struct text_set *set, struct arena *arena, struct pool_string *string)
{
	char *text = set->texts.n < UINT32_MAX - 1 ? arena_strdup(arena, string->text, string->size) : NULL;
	if (!text)
		return -ENOMEM;
	string->text = text;
	if (vec_push(&set->texts, *string))
		return -ENOMEM;
	index_table_add(&set->table, string->hash, set->texts.n - 1);
	return 0;
}

int text_set_keep(struct text_set *set, struct arena *arena, struct pool_string *string)
{
	const struct index_table *t = &set->table;
	const struct pool_string *texts = set->texts.v;
	if ((!t->slots || index_table_is_full(t, set->texts.n)) && widen_texts(set))
		return -ENOMEM;
	uint32_t known = t->slots[PROBE(i, string->hash, t->mask,
					!t->slots[i] || pool_string_equals(&texts[t->slots[i] - 1], string))];
	if (!known)
		return add_text(set, arena, string);
	string->text = set->texts.v[known - 1].text;
	return 0;
}
