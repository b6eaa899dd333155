/*
 * omit.c - records without what was not asked for. Strings and files that nothing uses any more are not
 * written, see emit.c.
 */
#include "convert/finish/finalize.h"

static void omit(struct func_record *r, const struct convert_options *options)
{
	if (options->omit_lines)
		r->n_rows = 0;
	if (options->omit_inlines)
		r->n_inlines = 0;
	for (uint32_t i = 0; i < r->n_merged; i++)
		omit(&r->merged[i], options);
}

void omit_records(record_vec *records, const struct convert_options *options)
{
	if (!options->omit_lines && !options->omit_inlines)
		return;
	for (size_t i = 0; i < records->n; i++)
		omit(&records->v[i], options);
}
