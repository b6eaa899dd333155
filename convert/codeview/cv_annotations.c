/*
 * cv_annotations.c - which code a site has, and its lines.
 *
 * A list of operations changes an offset in the function, and a line and a file; each change of the offset
 * begins a part of the site, with the line of that moment. It ends at the length that is given for it, or
 * where the next one begins. clang gives the length after the part, and goes on from its end; Microsoft's
 * compiler gives both in one operation, and goes on from its start. Operations and their operands are numbers
 * of 1, 2 or 4 bytes; the list is padded with zeros.
 */
#include "convert/codeview/cv_format.h"
#include "convert/codeview/cv_parts.h"

struct annotations {
	struct cv_sites *sites;
	struct cv_lines *lines;
	uint32_t size; /* of the function */
	uint64_t off;
	int64_t line;
	uint32_t file;
	bool has_line;   /* the inlined function begins at a known one */
	bool expression; /* what follows are parts of statements, which have lines already */
	bool elsewhere;  /* it is in another piece of the function */
	bool open;       /* @part has no end yet */
	struct cv_site_part part;
	uint64_t part_lo;
};

static uint32_t read_number(struct cursor *c)
{
	uint32_t first = cursor_u8(c);
	if (first < 0x80)
		return first;
	if (first < 0xc0)
		return (first & 0x3f) << 8 | cursor_u8(c);
	if (first >= 0xe0) {
		cursor_fail(c);
		return 0;
	}
	uint32_t high = (first & 0x1f) << 24 | (uint32_t)cursor_u8(c) << 16;
	uint32_t low = (uint32_t)cursor_u8(c) << 8;
	return high | low | cursor_u8(c);
}

static int32_t signed_number(uint32_t number)
{
	return number & 1 ? -(int32_t)(number >> 1) : (int32_t)(number >> 1);
}

/* Ends the open part at @end. */
static int close_part(struct annotations *a, uint64_t end)
{
	uint64_t hi = end < a->size ? end : a->size;
	bool keep = a->open && a->part_lo < hi;
	a->open = false;
	if (!keep)
		return 0;
	a->part.lo = (uint32_t)a->part_lo;
	a->part.hi = (uint32_t)hi;
	return vec_push(&a->sites->parts, a->part);
}

static int open_part(struct annotations *a)
{
	if (a->expression || a->elsewhere)
		return 0;
	int err = close_part(a, a->off);
	a->open = true;
	a->part_lo = a->off;
	a->part.file = a->file;
	a->part.line = a->has_line && a->line > 0 && a->line <= UINT32_MAX ? (uint32_t)a->line : 0;
	return err;
}

static int annotate(struct annotations *a, uint32_t op, struct cursor *c)
{
	uint32_t operand = read_number(c),
		 second = op == BA_OP_ChangeCodeLengthAndCodeOffset ? read_number(c) : 0;
	int err = 0;
	if (!cursor_ok(c))
		return -EBADMSG;
	switch (op) {
	case BA_OP_CodeOffset: a->off = operand; return open_part(a);
	case BA_OP_ChangeCodeOffset: a->off += operand; return open_part(a);
	case BA_OP_ChangeCodeOffsetBase: a->elsewhere = operand != 0; return close_part(a, a->off);
	case BA_OP_ChangeCodeLength:
		err = close_part(a, a->part_lo + operand);
		a->off += operand;
		return err;
	case BA_OP_ChangeFile: return cv_file(a->lines, operand, &a->file);
	case BA_OP_ChangeLineOffset: a->line += signed_number(operand); return 0;
	case BA_OP_ChangeRangeKind: a->expression = !operand; return 0;
	case BA_OP_ChangeCodeOffsetAndLineOffset:
		a->off += operand & 15;
		a->line += signed_number(operand >> 4);
		return open_part(a);
	case BA_OP_ChangeCodeLengthAndCodeOffset:
		a->off += second;
		err = open_part(a);
		return err ? err : close_part(a, a->part_lo + operand);
	case BA_OP_ChangeLineEndDelta:
	case BA_OP_ChangeColumnStart:
	case BA_OP_ChangeColumnEndDelta:
	case BA_OP_ChangeColumnEnd: return 0;
	}
	return -EBADMSG;
}

int cv_annotations_read(struct cv_sites *sites, struct cv_lines *lines, uint32_t site,
			struct span annotations, struct cv_inlinee inlinee, uint32_t size,
			struct budget *budget)
{
	struct cursor c = cursor_new(annotations.data, annotations.size, false);
	struct annotations a = {
		.sites = sites,
		.lines = lines,
		.size = size,
		.line = inlinee.line,
		.has_line = inlinee.line != 0,
		.file = inlinee.file,
		.part = {.site = site},
	};
	int err = 0;
	bool elsewhere = false;
	while (cursor_left(&c) && !err && budget_work(budget, ACCOUNT_CALLS, 1)) {
		uint32_t op = read_number(&c);
		if (!op && cursor_ok(&c))
			break;
		err = annotate(&a, op, &c);
		elsewhere |= a.elsewhere;
	}
	return err ? err : elsewhere ? -ENOTSUP : 0;
}
