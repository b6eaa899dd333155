/* The cursor: bounds, LEB128 at its edges, and the sticky error. */
#include "gsym/base/cursor.h"
#include "gsym/codec/buf.h"
#include "gsym/codec/leb.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

static void expect_uleb(const uint8_t *bytes, size_t size, bool ok, uint64_t value)
{
	struct cursor c = cursor_new(bytes, size, false), fast = c;
	assert_int_equal(cursor_uleb(&c), ok ? value : 0);
	assert_int_equal(cursor_ok(&c), ok);
	assert_int_equal(cursor_left(&c), 0);
	assert_int_equal(leb_unsigned(&fast), ok ? value : 0);
	assert_int_equal(cursor_ok(&fast), ok);
}

static void expect_sleb(const uint8_t *bytes, size_t size, bool ok, int64_t value)
{
	struct cursor c = cursor_new(bytes, size, false), fast = c;
	assert_int_equal(cursor_sleb(&c), ok ? value : 0);
	assert_int_equal(cursor_ok(&c), ok);
	assert_int_equal(leb_signed(&fast), ok ? (uint64_t)value : 0);
	assert_int_equal(cursor_ok(&fast), ok);
}

#define ULEB(ok, value, ...) \
	expect_uleb((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), ok, value)
#define SLEB(ok, value, ...) \
	expect_sleb((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), ok, value)

TEST(uleb_values)
{
	ULEB(true, 0, 0x00);
	ULEB(true, 127, 0x7f);
	ULEB(true, 128, 0x80, 0x01);
	ULEB(true, 624485, 0xe5, 0x8e, 0x26);
	ULEB(true, UINT64_MAX, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
	ULEB(true, 1ull << 63, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
}

TEST(uleb_padding_is_accepted)
{
	ULEB(true, 1, 0x81, 0x00);
	ULEB(true, 1, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00);
}

TEST(uleb_failures)
{
	ULEB(false, 0, 0x80);
	ULEB(false, 0, 0xff, 0xff);
	ULEB(false, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02);
	ULEB(false, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
	struct cursor empty = cursor_new("", 0, false);
	assert_int_equal(cursor_uleb(&empty), 0);
	assert_false(cursor_ok(&empty));
}

TEST(sleb_values)
{
	SLEB(true, 0, 0x00);
	SLEB(true, 63, 0x3f);
	SLEB(true, -64, 0x40);
	SLEB(true, -1, 0x7f);
	SLEB(true, 64, 0xc0, 0x00);
	SLEB(true, -65, 0xbf, 0x7f);
	SLEB(true, 8191, 0xff, 0x3f);
	SLEB(true, -8192, 0x80, 0x40);
	SLEB(true, -123456, 0xc0, 0xbb, 0x78);
	SLEB(true, INT64_MIN, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f);
	SLEB(true, INT64_MAX, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00);
	SLEB(true, -1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f);
}

TEST(sleb_failures)
{
	SLEB(false, 0, 0x80);
	SLEB(false, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
	SLEB(false, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00);
}

/* Whatever is written is read again, by the long way and by the short one. */
TEST(leb_round_trip)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int delta = -1; delta <= 1; delta++) {
			uint64_t v = (1ull << bit) + (uint64_t)(int64_t)delta;
			uint8_t bytes[LEB128_MAX];
			expect_uleb(bytes, (size_t)(put_uleb(bytes, v) - bytes), true, v);
			expect_sleb(bytes, (size_t)(put_sleb(bytes, (int64_t)v) - bytes), true, (int64_t)v);
			expect_sleb(bytes, (size_t)(put_sleb(bytes, -(int64_t)(v / 2)) - bytes), true,
				    -(int64_t)(v / 2));
		}
	}
}

TEST(pairs_are_skipped)
{
	static const uint64_t values[] = {0, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			uint8_t bytes[2 * LEB128_MAX + 8] = {0};
			uint8_t *end = put_uleb(put_uleb(bytes, values[i]), values[k]);
			struct cursor exact = cursor_new(bytes, (size_t)(end - bytes), false);
			struct cursor more = cursor_new(bytes, sizeof(bytes), false);
			leb_skip_pair(&exact);
			leb_skip_pair(&more);
			assert_true(cursor_ok(&exact) && !cursor_left(&exact));
			assert_ptr_equal(more.pos, end);
		}
	}
}

TEST(first_failure_sticks)
{
	static const uint8_t bytes[6] = {1, 2, 3, 4, 5, 6};
	struct cursor c = cursor_new(bytes, sizeof(bytes), true);
	assert_int_equal(cursor_u32(&c), 0x01020304);
	assert_int_equal(cursor_u32(&c), 0);
	assert_false(cursor_ok(&c));
	assert_int_equal(cursor_off(&c), 4);
	assert_int_equal(cursor_u8(&c), 0);
	assert_int_equal(cursor_left(&c), 0);
	assert_int_equal(cursor_off(&c), 4);
}

TEST(windows_keep_their_bounds)
{
	static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct cursor c = cursor_new(bytes, sizeof(bytes), false);
	cursor_skip(&c, 2);
	struct cursor w = cursor_window(&c, 3);
	assert_int_equal(cursor_off(&w), 2);
	assert_int_equal(cursor_left(&w), 3);
	assert_int_equal(cursor_u32(&w), 0);
	assert_false(cursor_ok(&w));
	assert_int_equal(cursor_u8(&c), 6);
	struct cursor past = cursor_window(&c, UINT64_MAX);
	assert_false(cursor_ok(&past));
	assert_false(cursor_ok(&c));
}

TEST(counts_are_claims)
{
	struct cursor c = cursor_new("12345678", 8, false);
	assert_true(cursor_can_hold(&c, 2, 4));
	assert_false(cursor_can_hold(&c, 3, 4));
	assert_false(cursor_can_hold(&c, UINT64_MAX, 4));
}

/* Of a size that no field has nothing is read, and the cursor has failed. */
TEST(fields_of_a_size)
{
	static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	static const struct {
		unsigned size;
		uint64_t little, big;
	} fields[] = {{1, 1, 1},
		      {2, 0x201, 0x102},
		      {4, 0x4030201, 0x1020304},
		      {8, 0x807060504030201, 0x102030405060708}};
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct cursor little = cursor_new(bytes, sizeof(bytes), false);
		struct cursor big = cursor_new(bytes, sizeof(bytes), true);
		assert_int_equal(cursor_uint(&little, fields[i].size), fields[i].little);
		assert_int_equal(cursor_uint(&big, fields[i].size), fields[i].big);
		assert_int_equal(cursor_off(&big), fields[i].size);
	}
	for (unsigned size = 0; size < 20; size++) {
		struct cursor c = cursor_new(bytes, sizeof(bytes), false);
		if (size == 1 || size == 2 || size == 4 || size == 8)
			continue;
		assert_int_equal(cursor_uint(&c, size), 0);
		assert_false(cursor_ok(&c));
		assert_int_equal(cursor_left(&c), 0);
	}
}

TEST(places)
{
	struct cursor c = cursor_new("ab\0cd", 5, false);
	assert_string_equal(cursor_str(&c), "ab");
	assert_int_equal(cursor_off(&c), 3);
	assert_null(cursor_str(&c)); /* its end is not in the window */
	assert_false(cursor_ok(&c));
	cursor_seek(&c, 0); /* the first failure sticks */
	assert_int_equal(cursor_left(&c), 0);
	c = cursor_new("ab", 2, false);
	cursor_seek(&c, 2);
	assert_true(cursor_ok(&c));
	assert_null(cursor_str(&c));
	c = cursor_new("ab", 2, false);
	cursor_seek(&c, 3);
	assert_false(cursor_ok(&c));
	c = cursor_new(NULL, 0, false);
	assert_int_equal(cursor_left(&c), 0);
	assert_int_equal(cursor_u8(&c), 0);
}
