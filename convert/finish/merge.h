/*
 * merge.h - functions that share a range, kept together.
 */
#ifndef CONVERT_FINISH_MERGE_H
#define CONVERT_FINISH_MERGE_H

#include "convert/record/func_record.h"

/*
 * Joins functions of one range that have different names: the one with most debug info becomes the holder,
 * and the others go to its list, in @arena. Folded functions without a holder are dropped. @records must be
 * sorted. 0 or -ENOMEM.
 */
int merge_records(record_vec *records, const struct pool *pool, struct arena *arena);

#endif
