/* Function records: the worked example byte for byte, merged functions, unknown blocks, and damage. */
#include "gsym/codec/record.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

static enum info_type part; /* that the encoder refused */

static const struct gsym_tables tables = {.strp_size = 4, .strtab_size = 100, .num_files = 4};

static const struct gsym_row rows[] = {
	{0x00, 1, 9}, {0x06, 1, 3}, {0x0d, 1, 7}, {0x0f, 1, 3}, {0x12, 1, 7}, {0x16, 1, 11}, {0x24, 1, 12},
};
static const struct gsym_range ranges[] = {{6, 0x10}, {6, 7}, {15, 3}};
static const struct gsym_inline nodes[] = {
	{0xf, 1, 10, 1, 0, 1}, {0x12, 1, 6, 2, 1, 1}, {0x12, 1, 7, 2, 2, 1}};
static const struct gsym_func work = {
	.start = 0x1140,
	.name = 1,
	.size = 0x32,
	.rows = rows,
	.n_rows = 7,
	.inlines = nodes,
	.n_inlines = 3,
	.ranges = ranges,
	.n_ranges = 3,
};

/* gsym(5), "Example": size and name, line table, inline info, end. */
static const uint8_t work_bytes[] = {
	0x32, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00, 0x7a,
	0x04, 0x09, 0x0a, 0x46, 0x5b, 0x1c, 0x2f, 0x3a, 0xa5, 0x00, 0x02, 0x00, 0x00, 0x00, 0x2a, 0x00, 0x00,
	0x00, 0x01, 0x00, 0x32, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x06, 0x10, 0x01, 0x0f, 0x00,
	0x00, 0x00, 0x01, 0x0a, 0x01, 0x00, 0x07, 0x00, 0x12, 0x00, 0x00, 0x00, 0x01, 0x06, 0x01, 0x09, 0x03,
	0x00, 0x12, 0x00, 0x00, 0x00, 0x01, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static int parse(const void *bytes, size_t size, struct function_info *ret, struct gsym_diag *diag)
{
	return record_parse(cursor_new(bytes, size, false), &tables, ret, diag);
}

TEST(worked_example)
{
	struct buf buf = {0};
	struct function_info r;
	struct gsym_decoder *d = gsym_decoder_new();
	assert_int_equal(record_encode(&buf, &work, &tables, &part, NULL), 0);
	assert_int_equal(buf.bytes.n, 0x1a9 - 0x154);
	assert_int_equal(buf.bytes.n, sizeof(work_bytes));
	assert_memory_equal(buf.bytes.v, work_bytes, sizeof(work_bytes));
	assert_int_equal(parse(buf.bytes.v, buf.bytes.n, &r, NULL), 0);
	assert_int_equal(record_decode(&r, 0x1140, &tables, d, NULL), 0);
	assert_func_equal(&work, &d->funcs.v[0]);
	buf_free(&buf);
	gsym_decoder_free(d);
}

TEST(plain_symbol_has_16_bytes)
{
	static const uint8_t bytes[16] = {0, 0, 0, 0, 7};
	struct gsym_func f = {.start = 0x1000, .name = 7};
	struct buf buf = {0};
	assert_int_equal(record_encode(&buf, &f, &tables, &part, NULL), 0);
	assert_int_equal(buf.bytes.n, sizeof(bytes));
	assert_memory_equal(buf.bytes.v, bytes, sizeof(bytes));
	buf_free(&buf);
}

/* Functions with everything, merged, in both widths and byte orders. */
TEST(merged_round_trip)
{
	static const uint64_t patterns[] = {3, 4};
	static const struct gsym_callsite sites[] = {{0x10, 0, 2, 1}, {0x20, 2, 0, 0}};
	struct gsym_func merged[3] = {work, work, work};
	merged[1].name = 5;
	merged[1].callsites = sites;
	merged[1].n_callsites = 2;
	merged[1].patterns = patterns;
	merged[1].n_patterns = 2;
	merged[2] = (struct gsym_func){.start = 0x1140, .name = 8, .size = 0x32};
	struct gsym_func holder = merged[1];
	holder.merged = merged;
	holder.n_merged = 3;
	for (int i = 0; i < 4; i++) {
		struct gsym_tables t = tables;
		struct buf buf = {.big = i & 1};
		struct function_info r;
		struct gsym_decoder *d = gsym_decoder_new();
		t.strp_size = i & 2 ? 4 : 8;
		assert_int_equal(record_encode(&buf, &holder, &t, &part, NULL), 0);
		assert_int_equal(record_parse(cursor_new(buf.bytes.v, buf.bytes.n, buf.big), &t, &r, NULL),
				 0);
		assert_int_equal(record_decode(&r, 0x1140, &t, d, NULL), 0);
		assert_func_equal(&holder, &d->funcs.v[0]);
		buf_free(&buf);
		gsym_decoder_free(d);
	}
}

TEST(unknown_blocks_are_skipped)
{
	static const uint8_t head[] = {0x10, 0, 0, 0, 1, 0, 0, 0, 99, 0, 0, 0, 3, 0, 0, 0, 0xff, 0xff, 0xff};
	static const uint8_t tail[] = {1,    0,    0, 0, 6, 0, 0, 0, 0, 0, 0xac,
				       0x02, 0x04, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	struct buf buf = {0};
	struct function_info r;
	struct gsym_decoder *d = gsym_decoder_new();
	buf_bytes(&buf, head, sizeof(head));
	buf_bytes(&buf, tail, sizeof(tail));
	assert_int_equal(parse(buf.bytes.v, buf.bytes.n, &r, NULL), 0);
	assert_int_equal(record_decode(&r, 0, &tables, d, NULL), 0);
	assert_int_equal(d->funcs.v[0].n_rows, 1);
	assert_int_equal(d->funcs.v[0].rows[0].line, 300);
	buf_free(&buf);
	gsym_decoder_free(d);
}

TEST(cut_off_anywhere)
{
	struct function_info r;
	struct gsym_diag diag;
	for (size_t size = 0; size < sizeof(work_bytes); size++) {
		assert_int_equal(parse(work_bytes, size, &r, &diag), -EBADMSG);
		assert_words(&diag, "function record at offset 0x0|cut off");
	}
}

static void expect_bad(const uint8_t *bytes, size_t size, const char *words)
{
	struct function_info r;
	struct gsym_diag diag;
	struct gsym_decoder *d = gsym_decoder_new();
	int err = parse(bytes, size, &r, &diag);
	if (!err)
		err = record_decode(&r, 0, &tables, d, &diag);
	assert_int_equal(err, -EBADMSG);
	assert_words(&diag, "function record at offset 0x");
	assert_words(&diag, words);
	gsym_decoder_free(d);
}

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((uint8_t[]){__VA_ARGS__})
#define U32(v)     (v), 0, 0, 0
#define END        U32(0), U32(0)

TEST(damage)
{
	expect_bad(BYTES(U32(1), U32(0), END), "name 0x0");
	expect_bad(BYTES(U32(1), U32(100), END), "name 0x64|0x64 bytes");
	expect_bad(BYTES(U32(1), U32(1), U32(9), 0xff, 0xff, 0xff, 0xff, END), "no end of list");
	expect_bad(BYTES(U32(1), U32(1), U32(1), U32(5), 0, 0, 1, 4, 0, U32(1), U32(5), 0, 0, 1, 4, 0, END),
		   "second block of type 1");
	expect_bad(BYTES(U32(1), U32(1), U32(1), U32(2), 1, 0, END), "line table|offset 0x12");
	expect_bad(BYTES(U32(1), U32(1), U32(2), U32(1), 1, END), "inline info");
	expect_bad(BYTES(U32(1), U32(1), U32(4), U32(4), U32(9), END), "call sites");
	expect_bad(BYTES(U32(1), U32(1), U32(3), U32(4), U32(1), END), "merged functions|more records");
	expect_bad(BYTES(U32(1), U32(1), U32(3), U32(24), U32(1), U32(200), U32(1), U32(1), END, END),
		   "merged functions|cut off");
	expect_bad(BYTES(U32(1), U32(1), U32(3), U32(24), U32(1), U32(16), U32(2), U32(1), END, END),
		   "merged function|size is not that of its holder");
}

TEST(merged_must_not_nest)
{
	struct gsym_func inner[1] = {work}, middle[1] = {work}, outer = work;
	struct buf buf = {0};
	struct gsym_diag diag;
	middle[0].merged = inner;
	middle[0].n_merged = 1;
	outer.merged = middle;
	outer.n_merged = 1;
	assert_int_equal(record_encode(&buf, &outer, &tables, &part, &diag), -EINVAL);
	assert_words(&diag, "merged functions of its own");
	assert_int_equal(part, InfoType_MergedFunctionsInfo);
	outer.merged = inner;
	inner[0].size++;
	assert_int_equal(record_encode(&buf, &outer, &tables, &part, &diag), -EINVAL);
	assert_words(&diag, "range is not that of its holder");
	buf_free(&buf);
	/* holder, in it a record that holds another */
	expect_bad(BYTES(U32(1), U32(1), U32(3), U32(56), U32(1), U32(48), U32(1), U32(1), U32(3), U32(24),
			 U32(1), U32(16), U32(1), U32(1), END, END, END),
		   "merged functions of its own");
}
