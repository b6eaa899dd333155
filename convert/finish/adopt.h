/*
 * adopt.h - rows for functions that no entry describes: assembly, thunks, code found identical to another.
 */
#ifndef CONVERT_FINISH_ADOPT_H
#define CONVERT_FINISH_ADOPT_H

#include "convert/record/func_record.h"

/* Moves the RECORD_LINES, what units offer for the ranges of symbols, from @records to the end of @offers. */
int offers_take(record_vec *records, record_vec *offers);

/*
 * Gives each record without rows those offered for exactly its range. Rows of several units lie in @arena. No
 * two records share rows, provided no two have one range. 0 or -ENOMEM.
 */
int offers_adopt(record_vec *records, const record_vec *offers, struct arena *arena);

#endif
