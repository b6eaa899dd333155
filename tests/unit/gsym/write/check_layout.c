/* Where sections go, and the limits of version 1. */
#include "gsym/write/layout.h"

#include "tests/unit/gsym/sample.h"
#include "tests/lib/unit.h"

#include <errno.h>

/* The published statistics of a file of version 2 with one function and a UUID of 16 bytes. */
static const struct layout_input vector = {
	.version = 2,
	.num_addresses = 1,
	.num_files = 3,
	.strtab_size = 43,
	.records_size = 185,
	.uuid_size = 16,
};

TEST(version_2_vector)
{
	struct layout l;
	assert_int_equal(layout_make(&vector, &l, NULL), 0);
	assert_int_equal(l.off[GlobalInfo_UUID], 160);
	assert_int_equal(l.off[GlobalInfo_AddrOffsets], 176);
	assert_int_equal(l.off[GlobalInfo_AddrInfoOffsets], 184);
	assert_int_equal(l.off[GlobalInfo_FileTable], 192);
	assert_int_equal(l.size[GlobalInfo_FileTable], 52);
	assert_int_equal(l.off[GlobalInfo_StringTable], 244);
	assert_int_equal(l.off[GlobalInfo_FunctionInfo], 288);
	assert_int_equal(l.file_size, 473);
}

TEST(version_1_order)
{
	struct layout_input in = vector;
	struct layout l;
	in.version = 1;
	in.num_addresses = 3;
	assert_int_equal(layout_make(&in, &l, NULL), 0);
	assert_int_equal(l.off[GlobalInfo_AddrOffsets], 48);
	assert_int_equal(l.off[GlobalInfo_AddrInfoOffsets], 52);
	assert_int_equal(l.off[GlobalInfo_FileTable], 64);
	assert_int_equal(l.off[GlobalInfo_StringTable], 64 + 4 + 24);
	assert_int_equal(l.off[GlobalInfo_FunctionInfo], 136);
	assert_int_equal(l.file_size, 136 + 185);
}

TEST(address_size_is_the_smallest)
{
	static const struct {
		uint64_t last;
		uint8_t size;
	} cases[] = {{0, 1},       {0xff, 1},       {0x100, 2},     {0xffff, 2},
		     {0x10000, 4}, {UINT32_MAX, 4}, {1ull << 32, 8}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct layout_input in = vector;
		struct layout l;
		in.last_offset = cases[i].last;
		assert_int_equal(layout_make(&in, &l, NULL), 0);
		assert_int_equal(l.addr_off_size, cases[i].size);
	}
}

static void expect_overflow(const struct layout_input *in, const char *words)
{
	struct layout l;
	struct gsym_diag diag;
	assert_int_equal(layout_make(in, &l, &diag), -EOVERFLOW);
	assert_words(&diag, words);
}

TEST(version_1_limits)
{
	struct layout_input in = vector;
	struct layout l;
	in.version = 1;
	in.strtab_size = UINT32_MAX;
	expect_overflow(&in, "last function record at offset 0x1000000|32 bits");
	in.strtab_size++;
	expect_overflow(&in, "string table at offset 0x|0x100000000 bytes");
	in.strtab_size = 43;
	in.uuid_size = 21;
	expect_overflow(&in, "UUID at offset 0x1c|21");
	in.uuid_size = 20;
	in.records_size = in.last_record = 1ull << 32;
	expect_overflow(&in, "last function record at offset 0x1|32 bits");
	/* only where the last record begins counts */
	in.last_record = 0;
	assert_int_equal(layout_make(&in, &l, NULL), 0);
	in.version = 2;
	in.last_record = 1ull << 32;
	in.strtab_size = 1ull << 33;
	in.uuid_size = 100;
	assert_int_equal(layout_make(&in, &l, NULL), 0);
}

TEST(too_many_functions)
{
	struct layout_input in = vector;
	in.num_addresses = 1ull << 32;
	expect_overflow(&in, "header at offset 0|4294967296 functions");
}
