#include "gsym/base/probe.h"

#include "gsym/base/invariant.h"

#include <errno.h>
#include <stdlib.h>

int index_table_init(struct index_table *table, size_t n_slots)
{
	invariant(n_slots && (n_slots & (n_slots - 1)) == 0);
	*table = (struct index_table){.slots = calloc(n_slots, sizeof(*table->slots)), .mask = n_slots - 1};
	return table->slots ? 0 : -ENOMEM;
}

void index_table_deinit(struct index_table *table)
{
	free(table->slots);
	*table = (struct index_table){0};
}

int index_table_widen(struct index_table *table)
{
	struct index_table wider;
	if (table->mask >= SIZE_MAX / 4 / sizeof(*table->slots) ||
	    index_table_init(&wider, (table->mask + 1) * 2))
		return -ENOMEM;
	free(table->slots);
	*table = wider;
	return 0;
}
