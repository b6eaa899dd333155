/*
 * callsite.h - the calls a function makes, by return address (gsym(5), "Call sites"). Internal.
 */
#ifndef GSYM_CODEC_CALLSITE_H
#define GSYM_CODEC_CALLSITE_H

#include "gsym/base/cursor.h"
#include "gsym/codec/buf.h"
#include "gsym/codec/decoder.h"
#include "gsym/codec/format.h"

/*
 * Appends the call sites and their patterns to @out. Patterns past the string table are -EBADMSG. @block is
 * left where the list ends.
 */
int callsite_decode(struct cursor *block, const struct gsym_tables *tables, struct gsym_decoder *out,
		    struct gsym_diag *diag);

/* Appends those of @func to @out: 0, -EINVAL for patterns that do not exist, -EOVERFLOW, -ENOMEM. */
int callsite_encode(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables,
		    struct gsym_diag *diag);

#endif
