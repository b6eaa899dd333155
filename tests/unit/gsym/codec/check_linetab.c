/* Line tables: the encoder's choices byte for byte, decoding, lookup, and damage. */
#include "gsym/codec/linetab.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

static const struct gsym_tables tables = {.strp_size = 4, .strtab_size = 100, .num_files = 4};

struct table {
	struct buf buf;
	struct gsym_decoder *decoder;
};

static int setup(void **state)
{
	struct table *t = calloc(1, sizeof(*t));
	t->decoder = gsym_decoder_new();
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct table *t = *state;
	buf_free(&t->buf);
	gsym_decoder_free(t->decoder);
	free(t);
	return 0;
}

static struct cursor bytes_of(const struct table *t)
{
	return cursor_new(t->buf.bytes.v, t->buf.bytes.n, false);
}

static int decode(struct table *t, struct cursor c, uint32_t size, struct gsym_diag *diag)
{
	t->decoder->rows.n = 0;
	return linetab_decode(&c, size, &tables, t->decoder, diag);
}

/* The row that rows v[i, last], which have one address, are shown by when the first counts. */
static size_t first_with_line(const struct gsym_row *v, size_t i, size_t last)
{
	while (i < last && (!v[i].line || !v[i].file))
		i++;
	return i;
}

static void expect_found(struct cursor bytes, const struct gsym_row *rows, size_t first, size_t last)
{
	struct gsym_row found;
	assert_int_equal(linetab_lookup(bytes, rows[first].off, &found, NULL), 0);
	assert_int_equal(found.file, rows[last].file);
	assert_int_equal(found.line, rows[last].line);
	assert_int_equal(linetab_lookup_first(bytes, rows[first].off, &found, NULL), 0);
	first = first_with_line(rows, first, last);
	assert_int_equal(found.file, rows[first].file);
	assert_int_equal(found.line, rows[first].line);
}

/* Encodes @rows, expects @bytes, decodes them and expects the rows again; looks every one of them up. */
static void expect_encoded(struct table *t, const struct gsym_tables *to, const struct gsym_row *rows,
			   size_t n, const uint8_t *bytes, size_t size)
{
	t->buf.bytes.n = 0;
	assert_int_equal(linetab_encode(&t->buf, rows, n, 0, to, NULL), 0);
	assert_int_equal(t->buf.bytes.n, size);
	assert_memory_equal(t->buf.bytes.v, bytes, size);
	assert_int_equal(decode(t, bytes_of(t), 0, NULL), 0);
	assert_int_equal(t->decoder->rows.n, n);
	assert_memory_equal(t->decoder->rows.v, rows, n * sizeof(*rows));
	for (size_t i = 0, last; i < n; i = last + 1) {
		for (last = i; last + 1 < n && rows[last + 1].off == rows[i].off; last++)
			;
		expect_found(bytes_of(t), rows, i, last);
	}
}

static void expect_table(struct table *t, const struct gsym_row *rows, size_t n, const uint8_t *bytes,
			 size_t size)
{
	expect_encoded(t, &tables, rows, n, bytes, size);
}

/* The same rows in a compact table. */
static void expect_compact(struct table *t, const struct gsym_row *rows, size_t n, const uint8_t *bytes,
			   size_t size)
{
	struct gsym_tables compact = tables;
	compact.compact = true;
	expect_encoded(t, &compact, rows, n, bytes, size);
}

#define ROWS(...)  ((const struct gsym_row[]){__VA_ARGS__}), ARRAY_SIZE(((struct gsym_row[]){__VA_ARGS__}))
#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((uint8_t[]){__VA_ARGS__})

TEST(worked_example)
{
	expect_table(*state,
		     ROWS({0x00, 1, 9}, {0x06, 1, 3}, {0x0d, 1, 7}, {0x0f, 1, 3}, {0x12, 1, 7}, {0x16, 1, 11},
			  {0x24, 1, 12}),
		     BYTES(0x7a, 0x04, 0x09, 0x0a, 0x46, 0x5b, 0x1c, 0x2f, 0x3a, 0xa5, 0x00));
}

TEST(one_row)
{
	expect_table(*state, ROWS({0, 1, 300}), BYTES(0x00, 0x00, 0xac, 0x02, 0x04, 0x00));
	expect_table(*state, ROWS({0, 2, 5}), BYTES(0x00, 0x00, 0x05, 0x01, 0x02, 0x04, 0x00));
	expect_table(*state, ROWS({0x300, 1, 5}), BYTES(0x00, 0x00, 0x05, 0x02, 0x80, 0x06, 0x00));
}

TEST(rows_at_one_address)
{
	expect_table(*state, ROWS({0, 1, 4}, {0, 1, 5}, {1, 1, 6}, {1, 2, 7}, {1, 1, 8}),
		     BYTES(0x00, 0x01, 0x04, 0x04, 0x05, 0x07, 0x01, 0x02, 0x05, 0x01, 0x01, 0x05, 0x00));
	expect_table(
		*state, ROWS({0, 1, 0}, {0, 1, 1}, {1, 1, 1}, {1, 1, 0}, {2, 0, 1}, {2, 2, 1}),
		BYTES(0x7f, 0x01, 0x00, 0x05, 0x06, 0x08, 0x04, 0x01, 0x00, 0x09, 0x01, 0x02, 0x05, 0x00));
	expect_table(*state, ROWS({0, 1, 0}, {0, 2, 0}),
		     BYTES(0x00, 0x00, 0x00, 0x04, 0x01, 0x02, 0x04, 0x00));
}

/* One delta d with 0 < d < 14 gives the range 0..d, any other a range of one. */
TEST(single_delta)
{
	expect_table(*state, ROWS({0, 1, 1}, {1, 1, 3}), BYTES(0x00, 0x02, 0x01, 0x04, 0x09, 0x00));
	expect_table(*state, ROWS({0, 1, 1}, {1, 1, 15}), BYTES(0x0e, 0x0e, 0x01, 0x02, 0x00, 0x05, 0x00));
	expect_table(*state, ROWS({0, 1, 3}, {1, 1, 1}), BYTES(0x7e, 0x7e, 0x03, 0x02, 0x00, 0x05, 0x00));
}

/* Deltas -100, 1, 2, 2, 3, 50: the window with most is 1..3. */
TEST(window_with_most_deltas)
{
	expect_table(*state,
		     ROWS({0, 1, 200}, {4, 1, 100}, {8, 1, 101}, {8, 1, 103}, {9, 1, 105}, {9, 1, 108},
			  {10, 1, 158}),
		     BYTES(0x01, 0x03, 0xc8, 0x01, 0x02, 0x00, /* line delta 0 is outside 1..3 */
			   0x03, 0x9c, 0x7f, 0x02, 0x04,       /* -100 */
			   0x10,                               /* +1, +4 */
			   0x05, 0x08, 0x06,                   /* +2, +2 +1, +3 */
			   0x03, 0x32, 0x02, 0x01,             /* +50, +1 */
			   0x00));
}

/* A special opcode follows AdvanceLine, unless the address is too far for any of them. */
TEST(compact_rows)
{
	expect_compact(*state,
		       ROWS({0, 1, 200}, {4, 1, 100}, {8, 1, 101}, {8, 1, 103}, {9, 1, 105}, {9, 1, 108},
			    {10, 1, 158}, {10, 2, 20}, {94, 1, 400}),
		       BYTES(0x01, 0x03, 0xc8, 0x01, 0x02, 0x00, /* no line, which AdvanceLine need not say */
			     0x03, 0x9b, 0x7f, 0x10,             /* -101 +1, +4 */
			     0x10,                               /* +1, +4 */
			     0x05, 0x08, 0x06,                   /* +2, +2 +1, +3 */
			     0x03, 0x31, 0x07,                   /* +49 +1, +1 */
			     0x01, 0x02, 0x03, 0xf5, 0x7e, 0x04, /* -139 +1, +0 */
			     0x01, 0x01, 0x03, 0xfc, 0x02, 0x02, 84, /* +380, +84 */
			     0x00));
	/* A line within the window, whose own opcode does not reach the address. */
	expect_compact(*state, ROWS({0, 1, 10}, {1, 1, 10}, {17, 1, 24}),
		       BYTES(0x00, 0x0e, 0x0a, 0x04, 0x13, 0x03, 0x0e, 0xf4, 0x00));
}

/* Before the special opcode of delta 5 AdvanceLine would lead to line -5, or beyond 32 bits. */
TEST_OF(compact_rows_stay_in_32_bits, struct table, t)
{
	expect_compact(t, ROWS({0, 1, 10}, {1, 1, 15}, {2, 1, 21}, {3, 1, 0}),
		       BYTES(0x05, 0x06, 0x0a, 0x02, 0x00, 0x06, 0x07, 0x03, 0x6b, 0x02, 0x01, 0x00));
	expect_compact(t, ROWS({0, 1, 30}, {1, 1, 25}, {2, 1, 19}, {3, 1, UINT32_MAX}),
		       BYTES(0x7a, 0x7b, 0x1e, 0x02, 0x00, 0x07, 0x06, 0x03, 0xec, 0xff, 0xff, 0xff, 0x0f,
			     0x02, 0x01, 0x00));
	static const uint8_t strays[] = {0x05, 0x06, 0x0a, 0x03,
					 0x71, 0x06, 0x00}; /* 10 -15 +5, as LLVM reads it */
	struct gsym_diag diag;
	assert_int_equal(decode(t, cursor_new(strays, sizeof(strays), false), 0, &diag), 0);
}

/* Deltas 0 and 20 occur once each: the lower window wins. */
TEST(first_window_wins_a_tie)
{
	expect_table(*state, ROWS({0, 1, 1}, {1, 1, 21}, {2, 1, 21}),
		     BYTES(0x00, 0x00, 0x01, 0x04, 0x03, 0x14, 0x02, 0x01, 0x05, 0x00));
}

/* The choice as the format describes it: for each delta that occurs, count those up to WINDOW above it. */
static void window_by_definition(const struct gsym_row *rows, size_t n, int64_t *ret_min, int64_t *ret_max)
{
	enum { WINDOW = 14 };
	int64_t low = INT64_MAX, high = INT64_MIN, best = 0, best_high = 0;
	size_t most = 0;
	for (size_t i = 1; i < n; i++) {
		int64_t from = (int64_t)rows[i].line - rows[i - 1].line, to = from;
		size_t count = 0;
		for (size_t k = 1; k < n; k++) {
			int64_t delta = (int64_t)rows[k].line - rows[k - 1].line;
			count += delta >= from && delta <= from + WINDOW;
			to = delta <= from + WINDOW && delta > to ? delta : to;
		}
		if (count > most || (count == most && from < best)) {
			most = count;
			best = from;
			best_high = to;
		}
		low = from < low ? from : low;
		high = from > high ? from : high;
	}
	*ret_min = high - low > WINDOW ? best : low;
	*ret_max = high - low > WINDOW ? best_high : high;
	if (*ret_min == *ret_max && *ret_min > 0 && *ret_min < WINDOW)
		*ret_min = 0;
}

/* Deltas of every magnitude, with those around which the encoder counts in different ways. */
TEST_OF(windows_of_random_deltas, struct table, t)
{
	static const int64_t edges[] = {-70000, -513, -512, -511, -1,  0,     1,
					14,     15,   511,  512,  513, 70000, 1 << 30};
	uint32_t seed = 9;
	for (int round = 0; round < 3000; round++) {
		struct gsym_row rows[24];
		int64_t min, max, line = 1 << 28;
		size_t n = 2 + (seed >> 9) % 23;
		for (size_t i = 0; i < n; i++) {
			rows[i] = (struct gsym_row){(uint32_t)i, 1, (uint32_t)line};
			seed = seed * 1664525 + 1013904223;
			line += edges[(seed >> 16) % ARRAY_SIZE(edges)] + (seed >> 8) % 3;
		}
		t->buf.bytes.n = 0;
		assert_int_equal(linetab_encode(&t->buf, rows, n, 0, &tables, NULL), 0);
		struct cursor c = bytes_of(t);
		window_by_definition(rows, n, &min, &max);
		assert_int_equal(cursor_sleb(&c), min);
		assert_int_equal(cursor_sleb(&c), max);
		assert_int_equal(decode(t, bytes_of(t), 0, NULL), 0);
		assert_memory_equal(t->decoder->rows.v, rows, n * sizeof(*rows));
	}
}

TEST_OF(extreme_values, struct table, t)
{
	static const struct gsym_row rows[] = {
		{0, 0, UINT32_MAX},
		{1, 3, 0},
		{UINT32_MAX, 1, UINT32_MAX},
		{UINT32_MAX, 2, 0},
	};
	assert_int_equal(linetab_encode(&t->buf, rows, 4, 0, &tables, NULL), 0);
	assert_int_equal(decode(t, bytes_of(t), 0, NULL), 0);
	assert_int_equal(t->decoder->rows.n, 4);
	assert_memory_equal(t->decoder->rows.v, rows, sizeof(rows));
}

/* Rows of every kind in random order come back, and a lookup agrees with the decoded rows at every offset. */
TEST_OF(random_rows, struct table, t)
{
	uint32_t seed = 1;
	for (int round = 0; round < 200; round++) {
		struct gsym_row rows[40], found;
		uint32_t off = 0, line = 1000;
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			seed = seed * 1664525 + 1013904223;
			off += seed >> 16 & (round & 1 ? 7 : 63);
			line += (seed >> 8 & 15) == 0 ? 9000 : (seed >> 20 & 31) - 15;
			rows[i] = (struct gsym_row){off, seed >> 28 & 3, line};
		}
		t->buf.bytes.n = 0;
		assert_int_equal(linetab_encode(&t->buf, rows, ARRAY_SIZE(rows), off + 1, &tables, NULL), 0);
		assert_int_equal(decode(t, bytes_of(t), off + 1, NULL), 0);
		assert_memory_equal(t->decoder->rows.v, rows, sizeof(rows));
		for (uint32_t at = 0, i = 0; at <= off + 3; at++) {
			while (i < ARRAY_SIZE(rows) && rows[i].off <= at)
				i++;
			int err = linetab_lookup(bytes_of(t), at, &found, NULL);
			assert_int_equal(err, i ? 0 : -ENOENT);
			if (i)
				assert_true(found.file == rows[i - 1].file && found.line == rows[i - 1].line);
		}
	}
}

TEST_OF(opcodes_in_unusual_order, struct table, t)
{
	/* AdvanceLine, SetFile, AdvanceLine, SetFile, special; then opcodes that emit nothing */
	static const uint8_t bytes[] = {0, 0, 10, 3, 1, 1, 2, 3, 2, 1, 3, 4, 3, 5, 1, 1, 0};
	struct gsym_row row;
	struct cursor c = cursor_new(bytes, sizeof(bytes), false);
	assert_int_equal(linetab_lookup(c, 7, &row, NULL), 0);
	assert_int_equal(row.file, 3);
	assert_int_equal(row.line, 13);
	assert_int_equal(decode(t, c, 0, NULL), 0);
	assert_int_equal(t->decoder->rows.n, 1);
	assert_memory_equal(t->decoder->rows.v, &((struct gsym_row){0, 3, 13}), sizeof(row));
}

TEST(first_row_behind_address)
{
	static const uint8_t bytes[] = {0, 0, 10, 2, 5, 0};
	struct gsym_row row;
	assert_int_equal(linetab_lookup(cursor_new(bytes, sizeof(bytes), false), 4, &row, NULL), -ENOENT);
	assert_int_equal(linetab_lookup(cursor_new(bytes, sizeof(bytes), false), 5, &row, NULL), 0);
	assert_int_equal(linetab_lookup_first(cursor_new(bytes, sizeof(bytes), false), 4, &row, NULL),
			 -ENOENT);
	assert_int_equal(linetab_lookup_first(cursor_new(bytes, sizeof(bytes), false), 5, &row, NULL), 0);
}

/* @lookup: what a lookup of offset 0 gives; damage behind what it looks at does not matter to it. */
static void expect_bad(struct table *t, const uint8_t *bytes, size_t size, int lookup, const char *words)
{
	struct cursor c = cursor_new(bytes, size, false);
	struct gsym_diag diag = {""};
	const struct gsym_row before = {1, 2, 3};
	struct gsym_row row = before;
	assert_int_equal(decode(t, c, 16, &diag), -EBADMSG);
	assert_words(&diag, "line table|offset 0x");
	assert_words(&diag, words);
	assert_int_equal(linetab_lookup(c, 0, &row, NULL), lookup);
	if (lookup)
		assert_memory_equal(&row, &before, sizeof(row));
	row = before;
	assert_int_equal(linetab_lookup_first(c, 0, &row, NULL), lookup);
	if (lookup)
		assert_memory_equal(&row, &before, sizeof(row));
}

TEST(damage)
{
	expect_bad(*state, BYTES(0x80), -EBADMSG, "header is cut off");
	expect_bad(*state, BYTES(1, 0, 1, 4, 0), -EBADMSG, "largest line delta below the smallest");
	/* max - min + 1 does not fit 64 bits */
	expect_bad(*state, BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f, 0, 1, 4, 0),
		   -EBADMSG, "below the smallest");
	expect_bad(*state, BYTES(0, 0, 1), -EBADMSG, "no end of sequence");
	expect_bad(*state, BYTES(0, 0, 1, 4), -EBADMSG, "no end of sequence at offset 0x4");
	expect_bad(*state, BYTES(0, 0, 1, 4, 1), -EBADMSG, "no end of sequence");
	expect_bad(*state, BYTES(0, 0, 1, 4, 2, 16, 0), 0, "past the end of its function");
	/* an advance that would wrap the address */
	expect_bad(*state,
		   BYTES(0, 0, 1, 2, 1, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0),
		   -ENOENT, "past the end of its function");
	expect_bad(*state, BYTES(0, 0, 1, 3, 0x7e, 4, 0), -EBADMSG, "line number");
	expect_bad(*state, BYTES(0, 0, 0xff, 0xff, 0xff, 0xff, 0x1f, 4, 0), -EBADMSG, "line number");
	expect_bad(*state, BYTES(0, 0, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x1f, 4, 0), -EBADMSG,
		   "file index outside");
	expect_bad(*state, BYTES(0, 0, 1, 1, 4, 4, 0), 0, "file index past the file table");
}

TEST_OF(encoder_refuses, struct table, t)
{
	struct gsym_diag diag;
	assert_int_equal(linetab_encode(&t->buf, ROWS({4, 1, 1}, {3, 1, 1}), 16, &tables, &diag), -EINVAL);
	assert_words(&diag, "row 1|+0x3|before its predecessor");
	assert_int_equal(linetab_encode(&t->buf, ROWS({0, 1, 1}, {16, 1, 1}), 16, &tables, &diag), -EINVAL);
	assert_words(&diag, "+0x10|0x10 bytes");
	assert_int_equal(linetab_encode(&t->buf, ROWS({0, 4, 1}), 16, &tables, &diag), -EINVAL);
	assert_words(&diag, "row 0|file 4 of 4");
}

EACH_TEST(setup, teardown)
