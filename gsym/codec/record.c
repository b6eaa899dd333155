/* Splitting a function record into its blocks. The record has no length: it ends with a block of type 0. */
#include "gsym/codec/record.h"

#include "gsym/base/diag.h"

#include <inttypes.h>

static int read_head(struct cursor *c, const struct gsym_tables *tables, struct function_info *r,
		     struct gsym_diag *diag)
{
	r->off = cursor_off(c);
	r->present = 0;
	r->size = cursor_u32(c);
	r->name = cursor_uint(c, tables->strp_size);
	r->end = cursor_off(c);
	if (!cursor_ok(c))
		return diag_set(diag, -EBADMSG, "function record at offset 0x%" PRIx64 " is cut off", r->off);
	if (!r->name || !tables_have_string(tables, r->name))
		return diag_set(diag, -EBADMSG,
				"function record at offset 0x%" PRIx64 ": name 0x%" PRIx64
				", expected one within the "
				"string table of 0x%" PRIx64 " bytes",
				r->off, r->name, tables->strtab_size);
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
