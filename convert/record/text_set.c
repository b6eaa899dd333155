#include "convert/record/text_set.h"

enum { FIRST_SLOTS = 1024 };

void text_set_deinit(struct text_set *set)
{
	vec_free(&set->texts);
	index_table_deinit(&set->table);
}

static int widen(struct text_set *set)
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
	if ((!t->slots || index_table_is_full(t, set->texts.n)) && widen(set))
		return -ENOMEM;
	uint32_t known = t->slots[PROBE(i, string->hash, t->mask,
					!t->slots[i] || pool_string_equals(&texts[t->slots[i] - 1], string))];
	if (!known)
		return add_text(set, arena, string);
	string->text = set->texts.v[known - 1].text;
	return 0;
}
