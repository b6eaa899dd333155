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
 * The last rows at or before an offset that have a file and a line. One without a line may be among them
 * where it hides another at its address.
 *
 * @block: the bytes of the table
 * @off:   relative to the start of the function
 * @ret:   the rows, ascending by offset
 * @max:   capacity of @ret, at least 1
 * @ret_n: number of rows, may be 0
 *
 * 0 or -EBADMSG.
 */
int linetab_before(struct cursor block, uint64_t off, struct gsym_row *ret, size_t max, size_t *ret_n,
		   struct gsym_diag *diag);

/*
 * Decodes a table.
 *
 * @block:  the bytes of the table, left at its end
 * @size:   of the function, bytes; 0: not known
 * @tables: what rows may refer to
 * @out:    rows are appended
 *
 * 0, -EBADMSG, also for a row at or past @size or with an unknown file, or -ENOMEM.
 */
int linetab_decode(struct cursor *block, uint32_t size, const struct gsym_tables *tables,
		   struct gsym_decoder *out, struct gsym_diag *diag);

/* Appends the offsets of rows up to @last to @out: 0 or -ENOMEM. */
int linetab_offsets(struct cursor block, uint32_t last, struct offset_list *out);

/* Sets file and line of the @n intervals, whose offsets must ascend, in one pass over the table. */
void linetab_sweep(struct cursor block, struct interval *v, size_t n);

/*
 * Appends a table, byte for byte as LLVM's encoder does unless tables->compact.
 *
 * @out:      appended to
 * @rows, @n: the rows, at least one
 * @size:     of the function, bytes; 0: not known
 * @tables:   what rows may refer to
 *
 * 0, -EINVAL when rows descend, lie at or past @size or have an unknown file, or -ENOMEM.
 */
int linetab_encode(struct buf *out, const struct gsym_row *rows, size_t n, uint32_t size,
		   const struct gsym_tables *tables, struct gsym_diag *diag);

#endif
