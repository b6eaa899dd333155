/*
 * merge.h - functions that share a range, kept together.
 */
#ifndef CONVERT_FINISH_MERGE_H
#define CONVERT_FINISH_MERGE_H

#include "convert/record/func_record.h"

/*
 * In @records, sorted, joins those of one range that have different names: the one that tells most becomes
 * the holder, the others go to its list in @arena. Records that the linker folded into nobody are dropped. 0
 * or -ENOMEM.
 */
int merge_records(record_vec *records, const struct pool *pool, struct arena *arena);

#endif
