/*
 * linetab.h - the line table of a function (gsym(5), "Line table").
 *
 * A row holds from its address to that of the next row. Addresses never descend; of several rows at one
 * address the last counts. Internal.
 */
#ifndef GSYM_CODEC_LINETAB_H
#define GSYM_CODEC_LINETAB_H

#include "gsym/base/cursor.h"
#include "gsym/codec/buf.h"
#include "gsym/codec/decoder.h"
#include "gsym/codec/format.h"
#include "gsym/codec/interval.h"

/*
 * File and line of the row in effect at @off bytes from the function's start; its own offset is left 0.
 * -ENOENT when the first row starts after @off, -EBADMSG when the bytes up to there are not a line table.
 */
int linetab_lookup(struct cursor block, uint64_t off, struct gsym_row *ret, struct gsym_diag *diag);

/*
 * Likewise, but of several rows at the address of that row, the first that has a file and a line, or the
 * last if none has. Slower, as rows are compared.
 */
int linetab_lookup_first(struct cursor block, uint64_t off, struct gsym_row *ret, struct gsym_diag *diag);

/*
 * The last rows at or before @off, at most @max > 0, that have a file and a line, with their offsets,
 * ascending. One that has no line may be among them where it hides another at its address. *ret_n may be 0. 0
 * or -EBADMSG.
 */
int linetab_before(struct cursor block, uint64_t off, struct gsym_row *ret, size_t max, size_t *ret_n,
		   struct gsym_diag *diag);

/*
 * Appends all rows to @out->rows. @size is that of the function, 0 when not known: a row at or past it is
 * -EBADMSG, as is one whose file is not in @tables. @block is left where the table ends.
 */
int linetab_decode(struct cursor *block, uint32_t size, const struct gsym_tables *tables,
		   struct gsym_decoder *out, struct gsym_diag *diag);

/* Appends the offsets of rows up to @last to @out: 0 or -ENOMEM. */
int linetab_offsets(struct cursor block, uint32_t last, struct offset_list *out);

/* Sets file and line of the @n intervals, whose offsets must ascend, in one pass over the table. */
void linetab_sweep(struct cursor block, struct interval *v, size_t n);

/*
 * Appends the table of @n > 0 rows to @out, byte for byte as LLVM's encoder does. -EINVAL when rows descend,
 * lie at or past @size (unless that is 0) or name an unknown file; -ENOMEM.
 */
int linetab_encode(struct buf *out, const struct gsym_row *rows, size_t n, uint32_t size,
		   const struct gsym_tables *tables, struct gsym_diag *diag);

#endif
