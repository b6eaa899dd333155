#include "gsym/codec/merged.h"

#include "gsym/base/diag.h"

#include <errno.h>
#include <inttypes.h>

enum {
	MERGED_SIZE_MIN = 4 + 4 + 4 + 8, /* length, then size, name and end of the smallest record */
};

static int bad(struct gsym_diag *diag, const struct cursor *c, const char *what)
{
	return diag_set(diag, -EBADMSG, "merged functions: %s at offset 0x%" PRIx64, what, cursor_off(c));
}

int merged_count(struct cursor *block, uint32_t *ret, struct gsym_diag *diag)
{
	uint32_t count = cursor_u32(block);
	if (!cursor_ok(block) || !cursor_can_hold(block, count, MERGED_SIZE_MIN))
		return bad(diag, block, "more records than bytes left");
	*ret = count;
	return 0;
}

int merged_next(struct cursor *block, struct cursor *ret, struct gsym_diag *diag)
{
	uint32_t size = cursor_u32(block);
	struct cursor record = cursor_window(block, size);
	if (!cursor_ok(block))
		return bad(diag, block, "record is cut off");
	*ret = record;
	return 0;
}
