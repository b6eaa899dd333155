/*
 * finalize.h - from all records to those that are written: sorted, unique by range, with their final names
 * and rows.
 */
#ifndef CONVERT_FINISH_FINALIZE_H
#define CONVERT_FINISH_FINALIZE_H

#include "convert/record/func_record.h"
#include "convert/record/warning.h"
#include "work/types/convert_types.h"

/*
 * Sorts, merges, names and prunes @records in place.
 *
 * @records: of units in file order, then of symbols; this order breaks ties
 * @pool:    names of @records
 * @options: dwarf_names, merged, callsites and match_llvm
 * @arena:   for joined rows and merged functions
 * @warnings: overlaps and duplicate ranges are counted here
 *
 * 0 or -ENOMEM.
 */
int finalize_records(record_vec *records, const struct pool *pool, const struct convert_options *options,
		     struct arena *arena, struct warnings *warnings);

/* Leaves lines and inlined calls out of final @records, as @options say (emit.c). */
void omit_records(record_vec *records, const struct convert_options *options);

/*
 * Adds the records to the writer in order (emit.c).
 *
 * @records: their numbers of strings and files become the writer's
 * @pool:    strings and files of @records; only used ones are stored
 * @threads: to encode with
 * @writer:  receives the functions, and becomes one of version 2 if it may and they do not fit version 1
 * @warnings: parts of functions that GSYM cannot hold are left out and counted here
 *
 * 0, -EOVERFLOW when the string table exceeds the GSYM version's limit, -ENOMEM, or the writer's errno.
 */
int emit_records(record_vec *records, const struct pool *pool, unsigned threads, struct gsym_writer *writer,
		 struct warnings *warnings, struct gsym_diag *diag);

/* ---- Functions that share a range, kept together (merge.c) ---- */

/*
 * Joins functions of one range that have different names: the one with most debug info becomes the holder,
 * and the others go to its list, in @arena. Folded functions without a holder are dropped. @records must be
 * sorted. 0 or -ENOMEM.
 */
int merge_records(record_vec *records, const struct pool *pool, struct arena *arena,
		  struct warnings *warnings);

/* ---- Rows for symbols without DWARF entry (symbol_rows.c) ---- */

/* Moves the RECORD_LINES, rows that units have for the ranges of symbols, from @records to the end of
 * @offers. 0 or -ENOMEM. */
int symbol_rows_take(record_vec *records, record_vec *offers);

/*
 * Gives each record without rows those offered for exactly its range. Rows joined from several units are
 * allocated in @arena. No two records share rows if no two have the same range. 0 or -ENOMEM.
 */
int symbol_rows_assign(record_vec *records, const record_vec *offers, struct arena *arena);

#endif
