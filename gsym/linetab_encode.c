/*
 * Writing line tables.
 *
 * The range of line deltas that special opcodes cover is chosen per table, exactly as LLVM's encoder chooses
 * it: with few distinct deltas all of them, else the window of WINDOW deltas that catches the most rows. The
 * choice decides every byte that follows, so decoding and encoding a table of LLVM's gives the same bytes.
 */
#include "linetab.h"

#include "base/diag.h"

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

/* Shell's sort with the gaps 1, 4, 13, 40...: most tables have a few dozen rows, and it needs no comparator. */
static void sort_deltas(int64_t *v, size_t n)
{
	size_t gap = 1;
	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap; gap /= 3) {
		for (size_t i = gap; i < n; i++) {
			int64_t x = v[i];
			size_t at = i;
			for (; at >= gap && v[at - gap] > x; at -= gap)
				v[at] = v[at - gap];
			v[at] = x;
		}
	}
}

/*
 * Of sorted deltas @v, the window that holds the most; the lowest of equals. Windows begin and end at deltas
 * that occur, and starting in the middle of a run of equal ones never holds more than at its beginning.
 */
static struct deltas best_window(const int64_t *v, size_t n)
{
	struct deltas best = {0, 0};
	size_t most = 0, end = 0;
	for (size_t i = 0; i < n; i++) {
		while (end < n && v[end] - v[i] <= WINDOW)
			end++;
		if (end - i > most) {
			most = end - i;
			best = (struct deltas){v[i], v[end - 1]};
		}
	}
	return best;
}

static int choose_deltas(const struct gsym_row *rows, size_t n, struct deltas *ret)
{
	struct deltas d = extremes(rows, n);
	if (d.max - d.min > WINDOW) {
		CLEANUP(freep) int64_t *v = malloc((n - 1) * sizeof(*v));
		if (!v)
			return -ENOMEM;
		for (size_t i = 1; i < n; i++)
			v[i - 1] = line_delta(rows, i);
		sort_deltas(v, n - 1);
		d = best_window(v, n - 1);
	}
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

static uint8_t *put_row(uint8_t *at, struct deltas d, const struct gsym_row *row, const struct gsym_row *prev)
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
		*at++ = LineOp_AdvanceLine;
		at = put_sleb(at, line_delta);
	}
	*at++ = LineOp_AdvancePC;
	return put_uleb(at, addr_delta);
}

static int check_rows(const struct gsym_row *rows, size_t n, uint32_t size, const struct gsym_tables *tables,
		      struct gsym_diag *diag)
{
	for (size_t i = 0; i < n; i++) {
		if (i && rows[i].off < rows[i - 1].off)
			return diag_set(diag, -EINVAL, "line row %zu at +0x%" PRIx32 " lies before its predecessor", i,
					rows[i].off);
		if (!tables_have_file(tables, rows[i].file))
			return diag_set(diag, -EINVAL, "line row %zu has file %" PRIu32 " of %" PRIu32, i,
					rows[i].file, tables->num_files);
	}
	if (size && rows[n - 1].off >= size)
		return diag_set(diag, -EINVAL, "line row at +0x%" PRIx32 " in a function of 0x%" PRIx32 " bytes",
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
	uint8_t *at = buf_room(out, room + TABLE_BYTES_MAX);
	if (!at)
		return diag_set(diag, -ENOMEM, "line table: no memory");
	at = put_sleb(at, d.min);
	at = put_sleb(at, d.max);
	at = put_uleb(at, rows[0].line);
	struct gsym_row first = {.off = 0, .file = LINE_FIRST_FILE, .line = rows[0].line};
	for (size_t i = 0; i < n; i++)
		at = put_row(at, d, &rows[i], i ? &rows[i - 1] : &first);
	*at++ = LineOp_EndSequence;
	buf_commit(out, at);
	return 0;
}
