/*
 * Writing line tables.
 *
 * The range of line deltas that special opcodes cover is chosen per table, exactly as LLVM's encoder chooses
 * it: with few distinct deltas all of them, else the window of WINDOW deltas that catches the most rows. The
 * choice decides every byte that follows, so decoding and encoding a table of LLVM's gives the same bytes,
 * but for compact tables, which differ from LLVM's in the opcodes of rows out of that range.
 */
#include "gsym/codec/linetab.h"

#include "gsym/base/diag.h"

#include <inttypes.h>

enum {
	WINDOW = 14, /* largest max - min of the deltas special opcodes cover */
	/* SetFile, AdvanceLine by a delta of 33 bits, AdvancePC: an opcode and its operand each */
	ROW_BYTES_MAX = 6 + 6 + 6,
	TABLE_BYTES_MAX = 3 * LEB128_MAX + 1,
};

struct deltas {
	int64_t min, max;
};

static int64_t line_delta(const struct gsym_row *rows, size_t i)
{
	return (int64_t)rows[i].line - (int64_t)rows[i - 1].line;
}

static struct deltas extremes(const struct gsym_row *rows, size_t n)
{
	struct deltas d = {0, 0};
	for (size_t i = 1; i < n; i++) {
		int64_t delta = line_delta(rows, i);
		if (i == 1 || delta < d.min)
			d.min = delta;
		if (i == 1 || delta > d.max)
			d.max = delta;
	}
	return d;
}

/* Distinct deltas in ascending order, with how often each occurs. */
struct tally {
	int64_t delta;
	size_t count;
};

enum {
	NEAR = 512, /* deltas in [-NEAR, NEAR), nearly all, are counted in place; others are sorted */
	NEAR_WORDS = 2 * NEAR / 64,
};

struct near_counts {
	uint64_t seen[NEAR_WORDS]; /* a bit for each delta that occurs */
	uint32_t count[2 * NEAR];  /* valid where the bit is set */
};

static void count_near(struct near_counts *c, size_t i)
{
	uint64_t bit = (uint64_t)1 << (i & 63);
	c->count[i] = c->seen[i >> 6] & bit ? c->count[i] + 1 : 1;
	c->seen[i >> 6] |= bit;
}

static size_t list_near(const struct near_counts *c, struct tally *out)
{
	size_t n = 0;
	for (size_t w = 0; w < NEAR_WORDS; w++) {
		for (uint64_t bits = c->seen[w]; bits; bits &= bits - 1) {
			size_t i = w * 64 + (size_t)__builtin_ctzll(bits);
			out[n++] = (struct tally){(int64_t)i - NEAR, c->count[i]};
		}
	}
	return n;
}

static int compare_tally(const void *a, const void *b)
{
	int64_t x = ((const struct tally *)a)->delta, y = ((const struct tally *)b)->delta;
	return COMPARE(x, y);
}

/* Sorts @v and joins equal deltas; gives the new number. */
static size_t sort_far(struct tally *v, size_t n)
{
	size_t kept = 0;
	if (n > 1)
		qsort(v, n, sizeof(*v), compare_tally);
	for (size_t i = 0; i < n; i++) {
		if (kept && v[kept - 1].delta == v[i].delta)
			v[kept - 1].count += v[i].count;
		else
			v[kept++] = v[i];
	}
	return kept;
}

/*
 * The window that holds the most rows; the lowest of equals. Windows begin and end at deltas that occur.
 * @v ascends.
 */
static struct deltas best_window(const struct tally *v, size_t n)
{
	struct deltas best = {0, 0};
	size_t most = 0, held = 0, end = 0;
	for (size_t i = 0; i < n; i++) {
		while (end < n && v[end].delta - v[i].delta <= WINDOW)
			held += v[end++].count;
		if (held > most) {
			most = held;
			best = (struct deltas){v[i].delta, v[end - 1].delta};
		}
		held -= v[i].count;
	}
	return best;
}

/*
 * @all has space for 2 * NEAR tallies, followed by the @n_far others. Moves the distinct ones, sorted, to
 * its beginning and returns their number. Near ones never overwrite far ones that are still to be moved.
 */
static size_t join_tallies(struct tally *all, size_t n_far, const struct near_counts *near)
{
	struct tally *far = all + 2 * NEAR;
	size_t low = 0;
	n_far = sort_far(far, n_far);
	while (low < n_far && far[low].delta < -NEAR)
		low++;
	memmove(all, far, low * sizeof(*all));
	size_t n = low + list_near(near, all + low);
	memmove(all + n, far + low, (n_far - low) * sizeof(*all));
	return n + n_far - low;
}

static int window_of_rows(const struct gsym_row *rows, size_t n, struct deltas *ret)
{
	CLEANUP(freep) struct tally *all = malloc((n + 2 * NEAR) * sizeof(*all));
	struct near_counts near;
	size_t n_far = 0;
	if (!all)
		return -ENOMEM;
	memset(near.seen, 0, sizeof(near.seen));
	for (size_t i = 1; i < n; i++) {
		int64_t delta = line_delta(rows, i);
		if (delta >= -NEAR && delta < NEAR)
			count_near(&near, (size_t)(delta + NEAR));
		else
			all[2 * NEAR + n_far++] = (struct tally){delta, 1};
	}
	*ret = best_window(all, join_tallies(all, n_far, &near));
	return 0;
}

static int choose_deltas(const struct gsym_row *rows, size_t n, struct deltas *ret)
{
	struct deltas d = extremes(rows, n);
	if (d.max - d.min > WINDOW && window_of_rows(rows, n, &d))
		return -ENOMEM;
	if (d.min == d.max && d.min > 0 && d.min < WINDOW)
		d.min = 0;
	*ret = d;
	return 0;
}

/* The special opcode for these deltas, or 0 when there is none. */
static uint8_t special_op(struct deltas d, int64_t line_delta, uint32_t addr_delta)
{
	if (line_delta < d.min || line_delta > d.max || addr_delta > LineOp_LastSpecial)
		return 0;
	int64_t op = line_delta - d.min + (int64_t)addr_delta * (d.max - d.min + 1) + LineOp_FirstSpecial;
	return op <= LineOp_LastSpecial ? (uint8_t)op : 0;
}

/*
 * The special opcode, or 0, after an AdvanceLine, which makes no row, to @line: that takes a byte less than
 * AdvancePC. LLVM's encoder never does that; compact tables do. In between the line is @line - d.min, which
 * strict readers want to be a line, too.
 */
static uint8_t op_after_advance(struct deltas d, uint32_t line, uint32_t addr_delta)
{
	int64_t between = (int64_t)line - d.min;
	return between >= 0 && between <= UINT32_MAX ? special_op(d, d.min, addr_delta) : 0;
}

static uint8_t *put_row(uint8_t *at, struct deltas d, const struct gsym_row *row, const struct gsym_row *prev,
			bool compact)
{
	int64_t line_delta = (int64_t)row->line - (int64_t)prev->line;
	uint32_t addr_delta = row->off - prev->off;
	if (row->file != prev->file) {
		*at++ = LineOp_SetFile;
		at = put_uleb(at, row->file);
	}
	uint8_t op = special_op(d, line_delta, addr_delta);
	if (op) {
		*at++ = op;
		return at;
	}
	if (line_delta) {
		op = compact ? op_after_advance(d, row->line, addr_delta) : 0;
		*at++ = LineOp_AdvanceLine;
		at = put_sleb(at, op ? line_delta - d.min : line_delta);
	}
	if (op) {
		*at++ = op;
		return at;
	}
	*at++ = LineOp_AdvancePC;
	return put_uleb(at, addr_delta);
}

static int check_rows(const struct gsym_row *rows, size_t n, uint32_t size, const struct gsym_tables *tables,
		      struct gsym_diag *diag)
{
	for (size_t i = 0; i < n; i++) {
		if (i && rows[i].off < rows[i - 1].off)
			return diag_set(diag, -EINVAL,
					"line row %zu at +0x%" PRIx32 " lies before its predecessor", i,
					rows[i].off);
		if (!tables_have_file(tables, rows[i].file))
			return diag_set(diag, -EINVAL, "line row %zu has file %" PRIu32 " of %" PRIu32, i,
					rows[i].file, tables->num_files);
	}
	if (size && rows[n - 1].off >= size)
		return diag_set(diag, -EINVAL,
				"line row at +0x%" PRIx32 " in a function of 0x%" PRIx32 " bytes",
				rows[n - 1].off, size);
	return 0;
}

int linetab_encode(struct buf *out, const struct gsym_row *rows, size_t n, uint32_t size,
		   const struct gsym_tables *tables, struct gsym_diag *diag)
{
	struct deltas d;
	size_t room;
	int err = check_rows(rows, n, size, tables, diag);
	if (err)
		return err;
	if (__builtin_mul_overflow(n, ROW_BYTES_MAX, &room) || room > SIZE_MAX - TABLE_BYTES_MAX ||
	    choose_deltas(rows, n, &d))
		return diag_set(diag, -ENOMEM, "line table: no memory");
	uint8_t *at = buf_reserve(out, room + TABLE_BYTES_MAX);
	if (!at)
		return diag_set(diag, -ENOMEM, "line table: no memory");
	at = put_sleb(at, d.min);
	at = put_sleb(at, d.max);
	at = put_uleb(at, rows[0].line);
	struct gsym_row first = {.off = 0, .file = LINE_FIRST_FILE, .line = rows[0].line};
	for (size_t i = 0; i < n; i++)
		at = put_row(at, d, &rows[i], i ? &rows[i - 1] : &first, tables->compact);
	*at++ = LineOp_EndSequence;
	buf_commit(out, at);
	return 0;
}
