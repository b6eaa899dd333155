/* Encoding function records. The length in front of a block is patched in once the block is written. */
#include "gsym/codec/record.h"

#include "gsym/base/diag.h"
#include "gsym/codec/callsite.h"
#include "gsym/codec/inline.h"
#include "gsym/codec/linetab.h"

#include <inttypes.h>

static size_t block_begin(struct buf *out, enum info_type type)
{
	buf_u32(out, type);
	buf_u32(out, 0);
	return buf_size(out);
}

/* Fills in the u32 length before offset @from, where a block or a merged record began. */
static int length_end(struct buf *out, size_t from, struct gsym_diag *diag)
{
	if (!buf_ok(out))
		return diag_set(diag, -ENOMEM, "function record: no memory");
	size_t length = buf_size(out) - from;
	if (length > UINT32_MAX)
		return diag_set(diag, -EOVERFLOW,
				"function record: a block of 0x%zx bytes, 32 bits count them", length);
	buf_patch32(out, from - 4, (uint32_t)length);
	return 0;
}

static int encode_lines(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables,
			struct gsym_diag *diag)
{
	size_t from = block_begin(out, InfoType_LineTable);
	int err = linetab_encode(out, func->rows, func->n_rows, func->size, tables, diag);
	return err ? err : length_end(out, from, diag);
}

static int encode_inlines(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables,
			  struct gsym_diag *diag)
{
	size_t from = block_begin(out, InfoType_InlineInfo);
	int err = inline_encode(out, func, tables, diag);
	return err ? err : length_end(out, from, diag);
}

static int encode_callsites(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables,
			    struct gsym_diag *diag)
{
	size_t from = block_begin(out, InfoType_CallSiteInfo);
	int err = callsite_encode(out, func, tables, diag);
	return err ? err : length_end(out, from, diag);
}

static int encode_merged_one(struct buf *out, const struct gsym_func *holder, const struct gsym_func *func,
			     const struct gsym_tables *tables, struct gsym_diag *diag)
{
	if (func->n_merged || func->start != holder->start || func->size != holder->size)
		return diag_set(diag, -EINVAL, "merged function: %s",
				func->n_merged ? "has merged functions of its own"
					       : "its range is not that of its holder");
	buf_u32(out, 0);
	size_t from = buf_size(out);
	enum info_type part;
	int err = record_encode(out, func, tables, &part, diag);
	return err ? diag_prefix(diag, err, "merged function") : length_end(out, from, diag);
}

static int encode_merged(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables,
			 struct gsym_diag *diag)
{
	if (func->n_merged > UINT32_MAX)
		return diag_set(diag, -EOVERFLOW, "merged functions: more than 32 bits can count");
	size_t from = block_begin(out, InfoType_MergedFunctionsInfo);
	buf_u32(out, (uint32_t)func->n_merged);
	for (size_t i = 0; i < func->n_merged; i++) {
		int err = encode_merged_one(out, func, &func->merged[i], tables, diag);
		if (err)
			return err;
	}
	return length_end(out, from, diag);
}

int record_encode(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables,
		  enum info_type *ret_part, struct gsym_diag *diag)
{
	const struct {
		enum info_type type;
		size_t n; /* it has none if this is 0 */
		int (*encode)(struct buf *out, const struct gsym_func *func, const struct gsym_tables *tables,
			      struct gsym_diag *diag);
	} parts[] = {
		{InfoType_LineTable, func->n_rows, encode_lines},
		{InfoType_InlineInfo, func->n_inlines, encode_inlines},
		{InfoType_MergedFunctionsInfo, func->n_merged, encode_merged},
		{InfoType_CallSiteInfo, func->n_callsites, encode_callsites},
	};
	*ret_part = InfoType_EndOfList;
	if (!func->name || !tables_have_string(tables, func->name))
		return diag_set(diag, -EINVAL,
				"function record: name 0x%" PRIx64 " is no string, or the empty one",
				func->name);
	buf_u32(out, func->size);
	buf_uint(out, func->name, tables->strp_size);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int err = parts[i].n ? parts[i].encode(out, func, tables, diag) : 0;
		*ret_part = parts[i].type;
		if (err)
			return err;
	}
	*ret_part = InfoType_EndOfList;
	buf_u32(out, InfoType_EndOfList);
	buf_u32(out, 0);
	return buf_ok(out) ? 0 : diag_set(diag, -ENOMEM, "function record: no memory");
}
