/*
 * pool.h - interned strings and files: equal ones get the same number. Texts are borrowed, never copied.
 */
#ifndef CONVERT_RECORD_POOL_H
#define CONVERT_RECORD_POOL_H

#include "gsym/base/arena.h"
#include "gsym/base/probe.h"
#include "gsym/base/vec.h"

#include <stdbool.h>
#include <string.h>

#define NO_STRING UINT32_MAX

/* The name that inlined calls without one get, as addr2line writes it. */
#define NAMELESS "??"

struct pool_string {
	const char *text; /* borrowed from a section, or from an arena; need not be terminated */
	uint64_t hash;
	uint32_t size;
};

struct pool_file {
	uint32_t dir, base; /* strings */
};

/* String 0 is "", file 0 is "no file". Zero-initialised is not valid: pool_init(). */
struct pool {
	VEC(struct pool_string) strings;
	VEC(struct pool_file) files;
	struct index_table string_table, file_table;
	uint64_t text_left; /* bytes of strings that may still be added */
	bool exceeded;      /* a string was replaced by "", as it would have been too much */
};

/* Strings of any size may be added; the owner may lower pool->text_left. */
int pool_init(struct pool *pool);
void pool_deinit(struct pool *pool);

/* A string with its hash, not in any pool yet. */
struct pool_string pool_string_of(const char *text, size_t size);

static inline bool pool_string_equals(const struct pool_string *a, const struct pool_string *b)
{
	return a->hash == b->hash && a->size == b->size && !memcmp(a->text, b->text, b->size);
}

/*
 * Prefetches the slot of a string with hash @hash, then, some strings later, the string found there. Tables
 * of many strings are not in the cache.
 */
static inline void pool_fetch_slot(const struct pool *pool, uint64_t hash)
{
	__builtin_prefetch(&pool->string_table.slots[hash & pool->string_table.mask]);
}

static inline void pool_fetch_string(const struct pool *pool, uint64_t hash)
{
	uint32_t known = pool->string_table.slots[hash & pool->string_table.mask];
	if (known)
		__builtin_prefetch(&pool->strings.v[known - 1]);
}

/* Numbers of a string and of a file; equal ones get the same number. A string that exceeds the limit gets
 * number 0. 0 or -ENOMEM. */
int pool_add_string(struct pool *pool, const struct pool_string *string, uint32_t *ret);
int pool_add_file(struct pool *pool, struct pool_file file, uint32_t *ret);

/* ---- Texts that are kept once, however many units have them ---- */

/* Zero-initialised is empty. The texts are in an arena of the caller, and remain when the set is gone. */
struct text_set {
	VEC(struct pool_string) texts;
	struct index_table table;
};

void text_set_deinit(struct text_set *set);

/*
 * Replaces string->text by an equal text in @arena, which is terminated, and always the same one. 0 or
 * -ENOMEM.
 */
int text_set_keep(struct text_set *set, struct arena *arena, struct pool_string *string);

#endif
