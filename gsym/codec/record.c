/* Splitting a function record into its blocks. The record has no length: it ends with a block of type 0. */
#include "gsym/codec/record.h"

#include "gsym/base/diag.h"

#include <errno.h>
#include <inttypes.h>

static int read_head(struct cursor *c, const struct gsym_tables *tables, struct function_info *r,
		     struct gsym_diag *diag)
{
	r->off = cursor_off(c);
	r->present = 0;
	r->size = cursor_u32(c);
	r->name = 0;
	uint64_t name = cursor_uint(c, tables->strp_size);
	r->end = cursor_off(c);
	if (!cursor_ok(c))
		return diag_set(diag, -EBADMSG, "function record at offset 0x%" PRIx64 " is cut off", r->off);
	if (!name || !tables_have_string(tables, name))
		return diag_set(diag, -EBADMSG,
				"function record at offset 0x%" PRIx64 ": name 0x%" PRIx64
				", expected one within the "
				"string table of 0x%" PRIx64 " bytes",
				r->off, name, tables->strtab_size);
	r->name = name;
	return 0;
}

int record_parse(struct cursor c, const struct gsym_tables *tables, struct function_info *ret,
		 struct gsym_diag *diag)
{
	int err = read_head(&c, tables, ret, diag);
	if (err)
		return err;
	for (;;) {
		uint32_t type = cursor_u32(&c), length = cursor_u32(&c);
		struct cursor block = cursor_window(&c, length);
		if (!cursor_ok(&c))
			return diag_set(diag, -EBADMSG,
					"function record at offset 0x%" PRIx64
					": no end of list, cut off at offset 0x%" PRIx64,
					ret->off, cursor_off(&c));
		ret->end = cursor_off(&c);
		if (type == InfoType_EndOfList)
			return 0;
		if (type >= INFO_TYPE_KNOWN)
			continue;
		if (record_has(ret, type))
			return diag_set(diag, -EBADMSG,
					"function record at offset 0x%" PRIx64
					": second block of type %" PRIu32,
					ret->off, type);
		ret->blocks[type] = block;
		ret->present |= 1u << type;
	}
}

/* ---- Merged functions ---- */

enum {
	MERGED_SIZE_MIN = 4 + 4 + 4 + 8, /* length, then size, name and end of the smallest record */
};

static int bad_merged(struct gsym_diag *diag, const struct cursor *c, const char *what)
{
	return diag_set(diag, -EBADMSG, "merged functions: %s at offset 0x%" PRIx64, what, cursor_off(c));
}

int merged_count(struct cursor *block, uint32_t *ret, struct gsym_diag *diag)
{
	uint32_t count = cursor_u32(block);
	if (!cursor_ok(block) || !cursor_can_hold(block, count, MERGED_SIZE_MIN))
		return bad_merged(diag, block, "more records than bytes left");
	*ret = count;
	return 0;
}

int merged_next(struct cursor *block, struct cursor *ret, struct gsym_diag *diag)
{
	uint32_t size = cursor_u32(block);
	struct cursor record = cursor_window(block, size);
	if (!cursor_ok(block))
		return bad_merged(diag, block, "record is cut off");
	*ret = record;
	return 0;
}
