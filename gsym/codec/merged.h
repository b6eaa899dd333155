/*
 * merged.h - other functions folded onto the same code (gsym(5), "Merged functions").
 *
 * A count, then whole function records, each preceded by its length. Internal.
 */
#ifndef GSYM_CODEC_MERGED_H
#define GSYM_CODEC_MERGED_H

#include "gsym/base/cursor.h"
#include "gsym/gsym.h"

/* Reads the number of records @block begins with: 0 or -EBADMSG. */
int merged_count(struct cursor *block, uint32_t *ret, struct gsym_diag *diag);

/* The next record as a window, after merged_count(): 0 or -EBADMSG. */
int merged_next(struct cursor *block, struct cursor *ret, struct gsym_diag *diag);

#endif
