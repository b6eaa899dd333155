/*
 * callsites.c - one pass marks the names of all functions in an array by string number, a second looks up
 * callees.
 */
#include "convert/finish/callsites.h"

static void flag_record(struct func_record *r, const bool *defined)
{
	for (uint32_t i = 0; i < r->n_callsites; i++) {
		struct gsym_callsite *site = &r->callsites[i];
		for (uint32_t k = 0; k < site->n_patterns; k++)
			site->flags |= defined[r->patterns[site->first_pattern + k]] ? GSYM_CALLSITE_INTERNAL
										     : GSYM_CALLSITE_EXTERNAL;
	}
}

int callsites_flag(record_vec *records, const struct pool *pool)
{
	bool *defined = calloc(pool->strings.n + 1, sizeof(*defined));
	if (!defined)
		return -ENOMEM;
	for (size_t i = 0; i < records->n; i++)
		if (records->v[i].kind != RECORD_LINES && records->v[i].name != NO_STRING)
			defined[records->v[i].name] = true;
	for (size_t i = 0; i < records->n; i++)
		flag_record(&records->v[i], defined);
	free(defined);
	return 0;
}
