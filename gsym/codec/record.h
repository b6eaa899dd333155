/*
 * record.h - a FunctionInfo: size, name, and blocks of typed data (gsym(5), "Function records").
 *
 * Internal.
 */
#ifndef GSYM_CODEC_RECORD_H
#define GSYM_CODEC_RECORD_H

#include "gsym/base/cursor.h"
#include "gsym/codec/buf.h"
#include "gsym/codec/decoder.h"
#include "gsym/codec/format.h"
#include "gsym/gsym.h"

/* A record split into its blocks, which are not decoded. */
struct function_info {
	uint64_t off;                          /* of the record, for messages */
	uint64_t end;                          /* how far it was read */
	uint32_t size;                         /* bytes of code, 0 = not known */
	uint64_t name;                         /* checked: a string, and not the empty one */
	struct cursor blocks[INFO_TYPE_KNOWN]; /* by enum info_type */
	unsigned present;                      /* bit 1 << type: the record has this block */
};

static inline bool record_has(const struct function_info *r, enum info_type type)
{
	return r->present & 1u << type;
}

/*
 * Splits the record that begins at @c. Blocks of unknown type are skipped. -EBADMSG when it does not end
 * within @c, has two blocks of one type, or no name; if ret->name is set all the same, what was read before
 * is sound.
 */
int record_parse(struct cursor c, const struct gsym_tables *tables, struct function_info *ret,
		 struct gsym_diag *diag);

/*
 * Decodes a function and those merged with it.
 *
 * @r:      from record_parse()
 * @start:  address of the function
 * @tables: what the record may refer to
 * @out:    overwritten; out->funcs[0] is the function. Arrays are valid until @out changes. If it salvages,
 *          damaged blocks and merged functions are left out and counted
 *
 * 0, -EBADMSG or -ENOMEM.
 */
int record_decode(const struct function_info *r, uint64_t start, const struct gsym_tables *tables,
		  struct gsym_decoder *out, struct gsym_diag *diag);

/*
 * Appends @func as a record to @out. Blocks are written in the order of their types, empty ones are
 * omitted. After a failure (-EINVAL, -EOVERFLOW, -ENOMEM) @out ends with a partial record, which the
 * caller truncates, and @ret_part is the block that failed, InfoType_EndOfList if none did.
 */
int record_encode(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables,
		  enum info_type *ret_part, struct gsym_diag *diag);

/* ---- Merged functions: other functions folded onto the same code (gsym(5), "Merged functions") ---- */

/* The block is a count, then whole function records, each preceded by its length. */

/* Reads the number of records @block begins with: 0 or -EBADMSG. */
int merged_count(struct cursor *block, uint32_t *ret, struct gsym_diag *diag);

/* The next record as a window, after merged_count(): 0 or -EBADMSG. */
int merged_next(struct cursor *block, struct cursor *ret, struct gsym_diag *diag);

#endif
