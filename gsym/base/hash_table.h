/*
 * hash_table.h - a hash table of elements that embed their own link. No locks; the owner guards it.
 *
 * The caller computes the hashes and compares the keys.
 */
#ifndef GSYM_BASE_HASH_TABLE_H
#define GSYM_BASE_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table_link {
	struct table_link *next;
	uint64_t hash;
};

/* Zero-initialised is empty. */
struct table {
	struct table_link **buckets;
	size_t n_buckets; /* a power of two, or 0 */
	size_t n;
};

/* The struct @type around its member `table`. */
#define TABLE_ENTRY(at, type) ((type *)(void *)((char *)(at)-offsetof(type, table)))

/* Adds an element; keys are not compared. 0 or -ENOMEM. */
int table_add(struct table *table, struct table_link *link, uint64_t hash);

/* Makes room for @n elements in all, which are then added without moving others. 0 or -ENOMEM. */
int table_reserve(struct table *table, size_t n);

/* Takes out an element that is in the table. */
void table_remove(struct table *table, struct table_link *link);

/*
 * The element after @at, or the first if it is NULL; NULL after the last. In no order. An element may be
 * removed once the next one is known.
 */
struct table_link *table_after(const struct table *table, const struct table_link *at);

/* Frees the buckets; the elements are the caller's. */
void table_deinit(struct table *table);

/* @link or the first after it in its bucket with this hash. */
static inline struct table_link *table_match(struct table_link *link, uint64_t hash)
{
	while (link && link->hash != hash)
		link = link->next;
	return link;
}

static inline struct table_link *table_first(const struct table *table, uint64_t hash)
{
	return table->n_buckets ? table_match(table->buckets[hash & (table->n_buckets - 1)], hash) : NULL;
}

static inline struct table_link *table_next(const struct table_link *link, uint64_t hash)
{
	return table_match(link->next, hash);
}

/* The struct around @link, whose member `table` is at @off of it; NULL for NULL. */
static inline void *table_entry(struct table_link *link, size_t off)
{
	return link ? (char *)link - off : NULL;
}

/* A loop over all elements @e, of @type, in no order; its body may remove @e. */
#define TABLE_EACH(type, e, of)                                                           \
	for (type *e = table_entry(table_after(of, NULL), offsetof(type, table)), *next_; \
	     e && (next_ = table_entry(table_after(of, &e->table), offsetof(type, table)), 1); e = next_)

/* The first element with @hash_of_key for which @is_it, an expression of the element @e, is true; or NULL. */
#define TABLE_FIND(type, e, of, hash_of_key, is_it)                                           \
	({                                                                                    \
		const uint64_t hash_ = (hash_of_key);                                         \
		type *e = table_entry(table_first(of, hash_), offsetof(type, table));         \
		while (e && !(is_it))                                                         \
			e = table_entry(table_next(&e->table, hash_), offsetof(type, table)); \
		e;                                                                            \
	})

/* Likewise, those whose hashes end with the same @bits bits; none in a table of more than 2^@bits buckets. */
static inline struct table_link *table_match_end(struct table_link *link, uint64_t hash, unsigned bits)
{
	while (link && (link->hash ^ hash) & ((UINT64_C(1) << bits) - 1))
		link = link->next;
	return link;
}

static inline struct table_link *table_first_end(const struct table *table, uint64_t hash, unsigned bits)
{
	size_t n = table->n_buckets;
	return n && n <= (UINT64_C(1) << bits) ? table_match_end(table->buckets[hash & (n - 1)], hash, bits)
					       : NULL;
}

static inline struct table_link *table_next_end(const struct table_link *link, uint64_t hash, unsigned bits)
{
	return table_match_end(link->next, hash, bits);
}

#endif
