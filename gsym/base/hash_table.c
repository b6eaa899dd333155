#include "gsym/base/hash_table.h"

#include "gsym/base/invariant.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_BUCKETS = 64 };

static void push(struct table *table, struct table_link *link)
{
	struct table_link **bucket = &table->buckets[link->hash & (table->n_buckets - 1)];
	link->next = *bucket;
	*bucket = link;
}

static int grow(struct table *table, size_t n_buckets)
{
	struct table wider = {.n_buckets = n_buckets, .n = table->n};
	wider.buckets = calloc(wider.n_buckets, sizeof(*wider.buckets));
	if (!wider.buckets)
		return -ENOMEM;
	for (size_t i = 0; i < table->n_buckets; i++) {
		for (struct table_link *at = table->buckets[i], *next; at; at = next) {
			next = at->next;
			push(&wider, at);
		}
	}
	free(table->buckets);
	*table = wider;
	return 0;
}

int table_reserve(struct table *table, size_t n)
{
	size_t n_buckets = table->n_buckets ? table->n_buckets : FIRST_BUCKETS;
	while (n_buckets < n && n_buckets <= SIZE_MAX / 2)
		n_buckets *= 2;
	return n_buckets == table->n_buckets ? 0 : grow(table, n_buckets);
}

int table_add(struct table *table, struct table_link *link, uint64_t hash)
{
	/* A full table that cannot grow still works, only slower. */
	if (table->n >= table->n_buckets && table_reserve(table, table->n + 1) && !table->n_buckets)
		return -ENOMEM;
	invariant((table->n_buckets & (table->n_buckets - 1)) == 0);
	link->hash = hash;
	push(table, link);
	table->n++;
	return 0;
}

void table_remove(struct table *table, struct table_link *link)
{
	struct table_link **at = &table->buckets[link->hash & (table->n_buckets - 1)];
	while (*at != link) {
		invariant(*at);
		at = &(*at)->next;
	}
	*at = link->next;
	table->n--;
}

struct table_link *table_after(const struct table *table, const struct table_link *at)
{
	if (at && at->next)
		return at->next;
	size_t i = at ? (at->hash & (table->n_buckets - 1)) + 1 : 0;
	while (i < table->n_buckets && !table->buckets[i])
		i++;
	return i < table->n_buckets ? table->buckets[i] : NULL;
}

void table_deinit(struct table *table)
{
	free(table->buckets);
	*table = (struct table){0};
}
