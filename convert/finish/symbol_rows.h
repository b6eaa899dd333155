/*
 * symbol_rows.h - rows for symbols without DWARF entry: assembly, thunks, functions merged with an identical
 * one.
 */
#ifndef CONVERT_FINISH_SYMBOL_ROWS_H
#define CONVERT_FINISH_SYMBOL_ROWS_H

#include "convert/record/func_record.h"

/* Moves the RECORD_LINES, rows that units have for the ranges of symbols, from @records to the end of
 * @offers. 0 or -ENOMEM. */
int symbol_rows_take(record_vec *records, record_vec *offers);

/*
 * Gives each record without rows those offered for exactly its range. Rows joined from several units are
 * allocated in @arena. No two records share rows if no two have the same range. 0 or -ENOMEM.
 */
int symbol_rows_assign(record_vec *records, const record_vec *offers, struct arena *arena);

#endif
