/*
 * Reading line tables.
 *
 * A table is a header (the smallest and largest line delta of special opcodes, the first line) and a byte
 * program. A special opcode is one byte that advances both line and address and emits a row, as in DWARF;
 * it needs the quotient and remainder of a number below 252 by the number of line deltas. That division sits
 * in the innermost loop of every lookup, so it is done as a multiplication by the rounded-up reciprocal in 16
 * fractional bits, which is exact for dividends and divisors below 256.
 */
#include "gsym/codec/linetab.h"

#include "gsym/base/invariant.h"
#include "gsym/base/diag.h"
#include "gsym/codec/leb.h"

#include <inttypes.h>

enum {
	SPECIALS = LineOp_LastSpecial - LineOp_FirstSpecial + 1,
	RECIPROCAL_BITS = 16,
};

static_assert(SPECIALS < 256, "the reciprocal is exact");

/* The line program before it is run. */
struct program {
	int64_t min_delta;
	uint32_t range;      /* distinct line deltas of special opcodes, at most SPECIALS of them matter */
	uint32_t reciprocal; /* of range */
	uint64_t first_line;
};

static int bad(struct gsym_diag *diag, const struct cursor *c, const char *what)
{
	return diag_set(diag, -EBADMSG, "line table: %s at offset 0x%" PRIx64, what, cursor_off(c));
}

static int read_header(struct cursor *c, struct program *ret, struct gsym_diag *diag)
{
	int64_t min = cursor_sleb(c), max = cursor_sleb(c), range;
	uint64_t line = cursor_uleb(c);
	if (!cursor_ok(c))
		return bad(diag, c, "header is cut off");
	if (__builtin_sub_overflow(max, min, &range) || range < 0)
		return bad(diag, c, "largest line delta below the smallest, in the header before");
	*ret = (struct program){
		.min_delta = min,
		.range = range < SPECIALS ? (uint32_t)range + 1 : SPECIALS,
		.first_line = line,
	};
	ret->reciprocal = ((1u << RECIPROCAL_BITS) + ret->range - 1) / ret->range;
	return 0;
}

/* Registers of the line program. Lines wrap in 64 bits here and are checked where a row is used. */
struct state {
	uint64_t off;
	uint64_t file;
	uint64_t line;
};

enum {
	NEXT_END,  /* the table ended */
	NEXT_ROW,  /* the registers are a row */
	NEXT_PAST, /* there is a row, but past the limit; the address register is unchanged */
};

/* The address advance of special opcode @op; its line advance goes into the register. */
static inline uint64_t special_advance(const struct program *p, uint8_t op, uint64_t *line)
{
	invariant(op >= LineOp_FirstSpecial && p->range && p->range <= SPECIALS);
	uint32_t adjusted = op - LineOp_FirstSpecial;
	uint32_t advance = adjusted * p->reciprocal >> RECIPROCAL_BITS;
	*line += (uint64_t)p->min_delta + (adjusted - advance * p->range);
	return advance;
}

/* Runs opcodes up to and with the next one that emits a row: a NEXT_ value or -EBADMSG. */
static inline int next_row(struct cursor *c, const struct program *p, struct state *s, uint64_t limit)
{
	while (cursor_left(c)) {
		uint8_t op = *c->pos++;
		if (op >= LineOp_FirstSpecial || op == LineOp_AdvancePC) {
			uint64_t advance =
				op == LineOp_AdvancePC ? cursor_uleb(c) : special_advance(p, op, &s->line);
			if (advance > limit - s->off)
				return NEXT_PAST;
			s->off += advance;
			return cursor_ok(c) ? NEXT_ROW : -EBADMSG;
		}
		if (op == LineOp_SetFile)
			s->file = cursor_uleb(c);
		else if (op == LineOp_AdvanceLine)
			s->line += (uint64_t)cursor_sleb(c);
		else
			return NEXT_END;
	}
	return -EBADMSG;
}

static int check_row(const struct state *s, const struct cursor *c, struct gsym_diag *diag)
{
	if (s->line > UINT32_MAX)
		return bad(diag, c, "line number outside 32 bits before");
	if (s->file > UINT32_MAX)
		return bad(diag, c, "file index outside 32 bits before");
	return 0;
}

/*
 * Runs the opcodes of a row, by the same steps as next_row(), but in the order in which encoders emit them:
 * [SetFile] [AdvanceLine] and one that advances the address. With rows of random kinds every branch is
 * mispredicted often. False at the end; past its end a cursor reads 0, which is EndSequence.
 */
static LEB_INLINE bool take_row(struct cursor *c, const struct program *p, struct state *s,
				uint64_t *ret_advance)
{
	for (;;) {
		uint8_t op = cursor_u8(c);
		if (op == LineOp_SetFile) {
			s->file = leb_unsigned(c);
			op = cursor_u8(c);
		}
		if (op == LineOp_AdvanceLine) {
			s->line += leb_signed(c);
			op = cursor_u8(c);
		}
		if (op >= LineOp_FirstSpecial) {
			*ret_advance = special_advance(p, op, &s->line);
			return true;
		}
		if (op == LineOp_AdvancePC) {
			*ret_advance = leb_unsigned(c);
			return true;
		}
		if (op == LineOp_EndSequence)
			return false;
		c->pos--;
	}
}

/* The row in effect at @off. */
static inline bool seek_row(struct cursor *cursor, const struct program *p, uint64_t off, struct state *ret)
{
	struct cursor c = *cursor;
	struct state s = {.file = LINE_FIRST_FILE, .line = p->first_line};
	uint64_t left = off, advance;
	bool found = false;
	while (take_row(&c, p, &s, &advance) && advance <= left) {
		left -= advance;
		*ret = s;
		found = true;
	}
	*cursor = c;
	return found;
}

int linetab_lookup(struct cursor block, uint64_t off, struct gsym_row *ret, struct gsym_diag *diag)
{
	struct program p;
	struct state row = {0};
	int err = read_header(&block, &p, diag);
	if (err)
		return err;
	bool found = seek_row(&block, &p, off, &row);
	if (!cursor_ok(&block))
		return bad(diag, &block, "no end of sequence");
	if (!found)
		return -ENOENT;
	err = check_row(&row, &block, diag);
	if (!err)
		*ret = (struct gsym_row){.file = (uint32_t)row.file, .line = (uint32_t)row.line};
	return err;
}

int linetab_lookup_first(struct cursor block, uint64_t off, struct gsym_row *ret, struct gsym_diag *diag)
{
	struct program p;
	struct state row = {0};
	bool found = false;
	int err = read_header(&block, &p, diag);
	if (err)
		return err;
	struct state s = {.file = LINE_FIRST_FILE, .line = p.first_line};
	while ((err = next_row(&block, &p, &s, off)) == NEXT_ROW) {
		if (!found || s.off != row.off || !row.line || !row.file)
			row = s;
		found = true;
	}
	if (err < 0)
		return diag_set(diag, err, "line table: damaged before offset 0x%" PRIx64,
				cursor_off(&block));
	if (!found)
		return -ENOENT;
	err = check_row(&row, &block, diag);
	if (!err)
		*ret = (struct gsym_row){.file = (uint32_t)row.file, .line = (uint32_t)row.line};
	return err;
}

/* Adds a row to @ret, a ring of the last @max rows; once it is full, the oldest is at *n modulo @max. */
static void remember_row(const struct state *s, struct gsym_row *ret, size_t max, size_t *n)
{
	struct gsym_row row = {(uint32_t)s->off, (uint32_t)s->file, (uint32_t)s->line};
	if (*n && ret[(*n - 1) % max].off == row.off)
		ret[(*n - 1) % max] = row;
	else if (row.line && row.file)
		ret[(*n)++ % max] = row;
}

static void reverse_rows(struct gsym_row *v, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct gsym_row row = v[i];
		v[i] = v[n - 1 - i];
		v[n - 1 - i] = row;
	}
}

int linetab_before(struct cursor block, uint64_t off, struct gsym_row *ret, size_t max, size_t *ret_n,
		   struct gsym_diag *diag)
{
	struct program p;
	size_t n = 0;
	int err = read_header(&block, &p, diag);
	struct state s = {.file = LINE_FIRST_FILE, .line = p.first_line};
	while (!err && (err = next_row(&block, &p, &s, off)) == NEXT_ROW) {
		err = check_row(&s, &block, diag);
		if (!err)
			remember_row(&s, ret, max, &n);
	}
	if (err < 0)
		return diag_set(diag, err, "line table: damaged before offset 0x%" PRIx64,
				cursor_off(&block));
	*ret_n = n < max ? n : max;
	if (n > max) { /* rotate the oldest to the front: reverse both parts, then the whole */
		reverse_rows(ret, n % max);
		reverse_rows(ret + n % max, max - n % max);
		reverse_rows(ret, max);
	}
	return 0;
}

int linetab_offsets(struct cursor block, uint32_t last, struct offset_list *out)
{
	struct program p;
	if (read_header(&block, &p, NULL))
		return 0;
	struct state s = {.file = LINE_FIRST_FILE, .line = p.first_line};
	while (next_row(&block, &p, &s, last) == NEXT_ROW) {
		if (out->n && out->v[out->n - 1] == s.off)
			continue;
		if (vec_push(out, (uint32_t)s.off))
			return -ENOMEM;
	}
	return 0;
}

/* Sets @row for an interval. */
static inline void set_row(struct interval *interval, const struct state *row)
{
	interval->file = (uint32_t)row->file;
	interval->line = row->file ? (uint32_t)row->line : 0;
	if (row->line > UINT32_MAX || row->file > UINT32_MAX)
		interval->node = INTERVAL_DAMAGED;
}

void linetab_sweep(struct cursor block, struct interval *v, size_t n)
{
	struct program p;
	struct cursor c = block;
	struct state row = {.file = 0};
	size_t i = 0;
	if (read_header(&c, &p, NULL)) {
		cursor_fail(&c);
	} else if (n) {
		struct state s = {.file = LINE_FIRST_FILE, .line = p.first_line};
		uint64_t left = v[0].off, advance; /* to the first interval that has no row yet */
		while (take_row(&c, &p, &s, &advance)) {
			while (advance > left) {
				set_row(&v[i], &row);
				if (++i == n)
					return;
				left += v[i].off - v[i - 1].off;
			}
			left -= advance;
			row = s;
		}
	}
	for (; i < n; i++)
		if (cursor_ok(&c))
			set_row(&v[i], &row);
		else /* a lookup here would have read the damaged bytes */
			v[i].node = INTERVAL_DAMAGED;
}

/* Checks what lookups leave to their callers: decoded rows need no further checks. */
static int keep_row(const struct state *s, const struct cursor *c, const struct gsym_tables *tables,
		    struct gsym_decoder *out, struct gsym_diag *diag)
{
	int err = check_row(s, c, diag);
	if (err)
		return err;
	if (!tables_have_file(tables, s->file))
		return bad(diag, c, "row with a file index past the file table before");
	struct gsym_row row = {(uint32_t)s->off, (uint32_t)s->file, (uint32_t)s->line};
	if (vec_push(&out->rows, row))
		return diag_set(diag, -ENOMEM, "line table: no memory for its rows");
	return 0;
}

int linetab_decode(struct cursor *block, uint32_t size, const struct gsym_tables *tables,
		   struct gsym_decoder *out, struct gsym_diag *diag)
{
	struct program p;
	int err = read_header(block, &p, diag);
	if (err)
		return err;
	uint64_t last = size ? size - 1 : UINT32_MAX;
	struct state s = {.file = LINE_FIRST_FILE, .line = p.first_line};
	while ((err = next_row(block, &p, &s, last)) == NEXT_ROW) {
		err = keep_row(&s, block, tables, out, diag);
		if (err)
			return err;
	}
	if (err == NEXT_PAST)
		return bad(diag, block, "row past the end of its function before");
	return err ? bad(diag, block, "no end of sequence") : 0;
}
