/*
 * finalize.h - from all records to those that are written: sorted, one for each range, each with the best
 * name and the rows it can get.
 */
#ifndef CONVERT_FINISH_FINALIZE_H
#define CONVERT_FINISH_FINALIZE_H

#include "convert/record/convert_types.h"
#include "convert/record/oddity.h"
#include "convert/record/func_record.h"

/*
 * Works in place; rows that had to be put together lie in @arena. The order of input matters where nothing
 * else decides: units in file order, then symbols.
 */
int finalize_records(record_vec *records, const struct pool *pool, const struct convert_options *options,
		     struct arena *arena, struct oddities *odd);

/*
 * Adds the records to the writer in their order, encoded by several threads (emit.c). Only strings and files
 * that are needed are stored. The numbers in the records become the writer's.
 */
int emit_records(record_vec *records, const struct pool *pool, unsigned threads, struct gsym_writer *writer,
		 struct gsym_diag *diag);

#endif
