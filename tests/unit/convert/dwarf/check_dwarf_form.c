/* DWARF without a file around it: headers of units, forms of attributes, lists of ranges, paths of files. */

#include "convert/dwarf/dwarf.h"

#include <errno.h>
#include <libdwarf/dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

#define BYTES(text) ((struct span){(const uint8_t *)(text), sizeof(text) - 1})

static struct cursor over(struct span s, bool big)
{
	return cursor_new(s.data, s.size, big);
}

/* ---- Headers ---- */

TEST(headers)
{
	static const struct {
		struct span bytes;
		bool big;
		enum warning bad;
		struct unit_header want;
	} cases[] = {
		{BYTES("\x08\0\0\0\4\0\x10\x20\0\0\x08\0"),
		 false,
		 WARN_COUNT,
		 {0, 12, 0x2010, 11, 4, 8, 4, DW_UT_compile, 0, 0, 0, 0}},
		{BYTES("\0\0\0\x08\0\2\0\0\x20\x10\4\0"),
		 true,
		 WARN_COUNT,
		 {0, 12, 0x2010, 11, 2, 4, 4, DW_UT_compile, 0, 0, 0, 0}},
		{BYTES("\xff\xff\xff\xff\x0c\0\0\0\0\0\0\0\3\0\1\0\0\0\0\0\0\0\2\0"),
		 false,
		 WARN_COUNT,
		 {0, 24, 1, 23, 3, 2, 8, DW_UT_compile, 0, 0, 0, 0}},
		{BYTES("\x09\0\0\0\5\0\1\4\x10\x20\0\0\0"),
		 false,
		 WARN_COUNT,
		 {0, 13, 0x2010, 12, 5, 4, 4, DW_UT_compile, 0, 0, 0, 0}},
		{BYTES("\x11\0\0\0\5\0\4\x08\x10\x20\0\0\1\2\3\4\5\6\7\x08\0"),
		 false,
		 WARN_COUNT,
		 {0, 21, 0x2010, 20, 5, 8, 4, DW_UT_skeleton, 0x0807060504030201, 0, 0, 0}},
		{BYTES("\x11\0\0\0\5\0\5\x08\x10\x20\0\0\1\2\3\4\5\6\7\x08\0"),
		 false,
		 WARN_COUNT,
		 {0, 21, 0x2010, 20, 5, 8, 4, DW_UT_split_compile, 0x0807060504030201, 0, 0, 0}},
		/* Types: a signature, and an offset. */
		{BYTES("\x15\0\0\0\5\0\2\x08\x10\x20\0\0\1\2\3\4\5\6\7\x08\1\2\3\4\0"),
		 false,
		 WARN_COUNT,
		 {0, 25, 0x2010, 24, 5, 8, 4, DW_UT_type, 0, 0, 0, 0}},
		{BYTES("\x15\0\0\0\5\0\6\x08\x10\x20\0\0\1\2\3\4\5\6\7\x08\1\2\3\4\0"),
		 false,
		 WARN_COUNT,
		 {0, 25, 0x2010, 24, 5, 8, 4, DW_UT_split_type, 0, 0, 0, 0}},
		{BYTES("\xff\xff\xff\xff\x1d\0\0\0\0\0\0\0\5\0\2\x08\x10\x20\0\0\0\0\0\0\1\2\3\4\5\6\7\x08\1"
		       "\2\3\4\5\6\7\x08\0"),
		 false,
		 WARN_COUNT,
		 {0, 41, 0x2010, 40, 5, 8, 8, DW_UT_type, 0, 0, 0, 0}},
		/* Truncated: what is left is the unit. */
		{BYTES("\x10\0\0\0\4\0\x10\x20\0\0\x08\0"),
		 false,
		 WARN_COUNT,
		 {0, 12, 0x2010, 11, 4, 8, 4, DW_UT_compile, 0, 0, 0, 0}},
		{BYTES("\x07\0\0\0\4\0\x10\x20\0\0\x08"),
		 false,
		 WARN_COUNT,
		 {0, 11, 0x2010, 11, 4, 8, 4, DW_UT_compile, 0, 0, 0, 0}},
		{BYTES("\x06\0\0\0\4\0\x10\x20\0\0\x08"), false, WARN_UNIT_HEADER, {.end = 10}},
		{BYTES("\x08\0\0\0\1\0\0\0\0\0\x08\0"), false, WARN_UNIT_VERSION, {.end = 12}},
		{BYTES("\x08\0\0\0\6\0\1\x08\0\0\0\0"), false, WARN_UNIT_VERSION, {.end = 12}},
		{BYTES("\x01\0\0\0\7"), false, WARN_UNIT_HEADER, {.end = 5}},
		{BYTES("\x08\0\0\0\4\0\0\0\0\0\3\0"), false, WARN_UNIT_HEADER, {.end = 12}},
		{BYTES("\x08\0\0\0\4\0\0\0\0\0\0\0"), false, WARN_UNIT_HEADER, {.end = 12}},
		{BYTES("\x08\0\0\0\5\0\0\x08\0\0\0\0"), false, WARN_UNIT_TYPE, {.end = 12}},
		{BYTES("\x08\0\0\0\5\0\7\x08\0\0\0\0"), false, WARN_UNIT_TYPE, {.end = 12}},
		{BYTES("\x10\0\0\0\5\0\4\x08\x10\x20\0\0\1\2\3\4\5\6\7\x08"),
		 false,
		 WARN_COUNT,
		 {0, 20, 0x2010, 20, 5, 8, 4, DW_UT_skeleton, 0x0807060504030201, 0, 0, 0}},
		{BYTES("\x0f\0\0\0\5\0\4\x08\x10\x20\0\0\1\2\3\4\5\6\7"),
		 false,
		 WARN_UNIT_HEADER,
		 {.end = 19}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct unit_header u;
		struct cursor c = over(cases[i].bytes, cases[i].big);
		assert_int_equal(unit_header_read(&c, &u), cases[i].bad);
		assert_int_equal(u.end, cases[i].want.end);
		assert_int_equal(cursor_off(&c), cases[i].want.end);
		assert_true(cursor_ok(&c));
		if (cases[i].bad == WARN_COUNT)
			assert_memory_equal(&u, &cases[i].want, sizeof(u));
	}
}

/* Lengths that are reserved: where the next unit begins is not known. */
TEST(reserved_lengths)
{
	struct unit_header u;
	for (unsigned last = 0xf0; last < 0xff; last++) {
		uint8_t bytes[] = {(uint8_t)last, 0xff, 0xff, 0xff, 4, 0, 0, 0, 0, 0, 8, 0};
		struct cursor c = cursor_new(bytes, sizeof(bytes), false);
		unit_header_read(&c, &u);
		assert_false(cursor_ok(&c));
	}
	uint8_t most[] = {0xef, 0xff, 0xff, 0xff, 4, 0, 0, 0, 0, 0, 8, 0};
	struct cursor c = cursor_new(most, sizeof(most), false);
	assert_int_equal(unit_header_read(&c, &u), WARN_COUNT);
	assert_int_equal(u.end, sizeof(most));
}

TEST(second_unit)
{
	struct unit_header u;
	struct cursor c =
		over(BYTES("\x08\0\0\0\4\0\x10\x20\0\0\x08\0\x08\0\0\0\4\0\x30\x20\0\0\x08\0"), false);
	assert_int_equal(unit_header_read(&c, &u), WARN_COUNT);
	assert_int_equal(unit_header_read(&c, &u), WARN_COUNT);
	assert_int_equal(u.off, 12);
	assert_int_equal(u.end, 24);
	assert_int_equal(u.die_off, 11);
	assert_int_equal(u.abbrev_off, 0x2030);
	assert_int_equal(cursor_left(&c), 0);
}

TEST(unit_types)
{
	static const bool code[] = {false, true, false, true, true, true, false, false};
	for (unsigned type = 0; type < ARRAY_SIZE(code); type++)
		assert_int_equal(unit_type_has_code((uint8_t)type), code[type]);
	assert_false(unit_type_has_code(0x80));
}

TEST(units_by_offset)
{
	struct unit_header units[] = {{.off = 0, .end = 10}, {.off = 10, .end = 20}, {.off = 30, .end = 40}};
	const struct dwarf dwarf = {.units = units, .n_units = ARRAY_SIZE(units)};
	for (uint64_t off = 0; off < 45; off++) {
		const struct unit_header *want = off < 10   ? &units[0]
						 : off < 20 ? &units[1]
						 : off < 30 ? NULL
						 : off < 40 ? &units[2]
							    : NULL;
		assert_ptr_equal(dwarf_find_unit(&dwarf, off), want);
	}
	assert_null(dwarf_find_unit(&(struct dwarf){0}, 0));
}

/* ---- Forms ---- */

enum {
	GNU_ADDR_INDEX = 0x1f01,
	GNU_STR_INDEX = 0x1f02,
	GNU_REF_ALT = 0x1f20,
	GNU_STRP_ALT = 0x1f21,
};

static const uint8_t digits[] = {0x81, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
				 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13};

TEST(forms)
{
	static const struct {
		uint16_t form;
		uint8_t size;
		enum value_class class;
		uint64_t value;
	} cases[] = {
		{DW_FORM_addr, 8, VALUE_ADDRESS, 0x0807060504030281},
		{DW_FORM_data1, 1, VALUE_UINT, 0x81},
		{DW_FORM_data2, 2, VALUE_UINT, 0x0281},
		{DW_FORM_data4, 4, VALUE_UINT, 0x04030281},
		{DW_FORM_data8, 8, VALUE_UINT, 0x0807060504030281},
		{DW_FORM_data16, 16, VALUE_NONE, 0},
		{DW_FORM_flag, 1, VALUE_UINT, 0x81},
		{DW_FORM_flag_present, 0, VALUE_UINT, 1},
		{DW_FORM_implicit_const, 0, VALUE_SINT, (uint64_t)-7},
		{DW_FORM_udata, 2, VALUE_UINT, 0x101},
		{DW_FORM_sdata, 2, VALUE_SINT, 0x101},
		{DW_FORM_sec_offset, 4, VALUE_UINT, 0x04030281},
		{DW_FORM_addrx, 2, VALUE_ADDRESS_INDEX, 0x101},
		{DW_FORM_addrx1, 1, VALUE_ADDRESS_INDEX, 0x81},
		{DW_FORM_addrx2, 2, VALUE_ADDRESS_INDEX, 0x0281},
		{DW_FORM_addrx3, 3, VALUE_ADDRESS_INDEX, 0x030281},
		{DW_FORM_addrx4, 4, VALUE_ADDRESS_INDEX, 0x04030281},
		{GNU_ADDR_INDEX, 2, VALUE_ADDRESS_INDEX, 0x101},
		{DW_FORM_strx, 2, VALUE_STRING_INDEX, 0x101},
		{DW_FORM_strx1, 1, VALUE_STRING_INDEX, 0x81},
		{DW_FORM_strx2, 2, VALUE_STRING_INDEX, 0x0281},
		{DW_FORM_strx3, 3, VALUE_STRING_INDEX, 0x030281},
		{DW_FORM_strx4, 4, VALUE_STRING_INDEX, 0x04030281},
		{GNU_STR_INDEX, 2, VALUE_STRING_INDEX, 0x101},
		{DW_FORM_ref1, 1, VALUE_REFERENCE, 0x1081},
		{DW_FORM_ref2, 2, VALUE_REFERENCE, 0x1281},
		{DW_FORM_ref4, 4, VALUE_REFERENCE, 0x04031281},
		{DW_FORM_ref8, 8, VALUE_REFERENCE, 0x0807060504031281},
		{DW_FORM_ref_udata, 2, VALUE_REFERENCE, 0x1101},
		{DW_FORM_ref_addr, 4, VALUE_REFERENCE, 0x04030281},
		{DW_FORM_ref_sup4, 4, VALUE_ALTERNATE, 0x04030281},
		{DW_FORM_ref_sup8, 8, VALUE_ALTERNATE, 0x0807060504030281},
		{GNU_REF_ALT, 4, VALUE_ALTERNATE, 0x04030281},
		{GNU_STRP_ALT, 4, VALUE_ALTERNATE, 0},
		{DW_FORM_strp_sup, 4, VALUE_ALTERNATE, 0},
		{DW_FORM_ref_sig8, 8, VALUE_NONE, 0},
		{DW_FORM_rnglistx, 2, VALUE_LIST_INDEX, 0x101},
		{DW_FORM_loclistx, 2, VALUE_NONE, 0},
		{DW_FORM_strp, 4, VALUE_STRING, 0},
		{DW_FORM_line_strp, 4, VALUE_STRING, 0},
	};
	static const struct unit_header unit = {.off = 0x1000, .off_size = 4, .addr_size = 8, .version = 5};
	static const struct dwarf dwarf = {.str = {digits, 4}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cursor read = cursor_new(digits, sizeof(digits), false), skipped = read;
		struct value v;
		int fixed = form_fixed_size(cases[i].form, &unit);
		form_read(&read, cases[i].form, -7, &dwarf, &unit, &v);
		form_skip(&skipped, cases[i].form, &unit);
		assert_int_equal(v.class, cases[i].class);
		assert_int_equal(v.u, cases[i].value);
		assert_int_equal(cursor_off(&read), cases[i].size);
		assert_int_equal(cursor_off(&skipped), cases[i].size);
		assert_true(fixed == cases[i].size || fixed < 0);
		enum value_class simple = form_simple_class(cases[i].form);
		assert_true(simple == VALUE_NONE || simple == VALUE_STRING || simple == cases[i].class);
		assert_true(simple == VALUE_NONE || fixed >= 0);
		/* One byte is missing. */
		if (!cases[i].size)
			continue;
		for (unsigned skip = 0; skip < 2; skip++) {
			struct cursor c = cursor_new(digits, cases[i].size - 1u, false);
			if (skip)
				form_skip(&c, cases[i].form, &unit);
			else
				form_read(&c, cases[i].form, -7, &dwarf, &unit, &v);
			assert_false(cursor_ok(&c));
		}
	}
}

TEST(sizes_of_forms)
{
	const struct unit_header old = {.off_size = 8, .addr_size = 4, .version = 2};
	const struct unit_header newer = {.off_size = 8, .addr_size = 4, .version = 3};
	assert_int_equal(form_fixed_size(DW_FORM_ref_addr, &old), 4);
	assert_int_equal(form_fixed_size(DW_FORM_ref_addr, &newer), 8);
	assert_int_equal(form_fixed_size(DW_FORM_addr, &newer), 4);
	assert_int_equal(form_fixed_size(DW_FORM_strp, &newer), 8);
	assert_int_equal(form_fixed_size(DW_FORM_sec_offset, &newer), 8);
	assert_int_equal(form_fixed_size(DW_FORM_string, &newer), -1);
	assert_int_equal(form_fixed_size(DW_FORM_block1, &newer), -1);
	assert_int_equal(form_fixed_size(DW_FORM_indirect, &newer), -1);
	assert_int_equal(form_fixed_size(0x7f, &newer), -1);
}

/* Reads, skips, and expects both to take @size bytes, 0 = both fail. */
static struct value read_form(uint64_t form, struct span bytes, const struct dwarf *dwarf, uint64_t size)
{
	static const struct unit_header unit = {.off = 0x1000, .off_size = 4, .addr_size = 8, .version = 5};
	struct cursor read = over(bytes, false), skipped = over(bytes, false);
	struct value v;
	form_read(&read, form, 0, dwarf, &unit, &v);
	form_skip(&skipped, form, &unit);
	assert_int_equal(cursor_ok(&read), size != 0);
	assert_int_equal(cursor_ok(&skipped), size != 0);
	if (size) {
		assert_int_equal(cursor_off(&read), size);
		assert_int_equal(cursor_off(&skipped), size);
	}
	return v;
}

TEST(blocks)
{
	const struct dwarf none = {0};
	read_form(DW_FORM_block1, BYTES("\2ab"), &none, 3);
	read_form(DW_FORM_block1, BYTES("\3ab"), &none, 0);
	read_form(DW_FORM_block2, BYTES("\2\0ab"), &none, 4);
	read_form(DW_FORM_block2, BYTES("\3\0ab"), &none, 0);
	read_form(DW_FORM_block4, BYTES("\2\0\0\0ab"), &none, 6);
	read_form(DW_FORM_block4, BYTES("\3\0\0\0ab"), &none, 0);
	read_form(DW_FORM_block, BYTES("\x82\0ab"), &none, 4);
	read_form(DW_FORM_exprloc, BYTES("\2ab"), &none, 3);
	read_form(DW_FORM_exprloc, BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), &none, 0);
	read_form(0x7f, BYTES("ab"), &none, 0);
	read_form(0, BYTES("ab"), &none, 0);
	assert_int_equal(read_form(DW_FORM_indirect, BYTES("\x0b\x17"), &none, 2).u, 0x17);
	read_form(DW_FORM_indirect, BYTES("\x16\x0b\x17"), &none, 0);
	read_form(DW_FORM_indirect, BYTES("\x21\x17"), &none, 0);
	assert_int_equal((int64_t)read_form(DW_FORM_sdata, BYTES("\x7f"), &none, 1).u, -1);
}

TEST(strings)
{
	static const struct dwarf other = {.str = {(const uint8_t *)"alt", 4}};
	static const struct dwarf dwarf = {.str = {(const uint8_t *)"one\0two", 8},
					   .line_str = {(const uint8_t *)"line", 5},
					   .alternate = &other};
	static const struct {
		uint64_t form;
		struct span bytes;
		uint64_t size;
		const char *text;
	} cases[] = {
		{DW_FORM_strp, BYTES("\0\0\0\0"), 4, "one"},
		{DW_FORM_strp, BYTES("\4\0\0\0"), 4, "two"},
		{DW_FORM_strp, BYTES("\7\0\0\0"), 4, ""},
		{DW_FORM_strp, BYTES("\x08\0\0\0"), 4, NULL},
		{DW_FORM_line_strp, BYTES("\1\0\0\0"), 4, "ine"},
		{DW_FORM_line_strp, BYTES("\5\0\0\0"), 4, NULL},
		{DW_FORM_strp_sup, BYTES("\1\0\0\0"), 4, "lt"},
		{GNU_STRP_ALT, BYTES("\3\0\0\0"), 4, ""},
		{GNU_STRP_ALT, BYTES("\4\0\0\0"), 4, NULL},
		{DW_FORM_string, BYTES("in\0"), 3, "in"},
		{DW_FORM_string, BYTES("in"), 0, NULL},
		{DW_FORM_indirect, BYTES("\x08zz\0"), 4, "zz"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct value v = read_form(cases[i].form, cases[i].bytes, &dwarf, cases[i].size);
		assert_int_equal(v.class, cases[i].size ? VALUE_STRING : VALUE_NONE);
		if (cases[i].text)
			assert_string_equal(v.str, cases[i].text);
		else
			assert_null(v.str);
	}
}

/* A reference that would leave the address space is none. */
TEST(far_reference)
{
	struct cursor c = over(BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"), false);
	const struct unit_header unit = {.off = 1, .off_size = 4, .addr_size = 8, .version = 5};
	struct value v;
	form_read(&c, DW_FORM_ref8, 0, &(struct dwarf){0}, &unit, &v);
	assert_int_equal(v.class, VALUE_NONE);
}

/* ---- Ranges ---- */

struct listing {
	struct dwarf dwarf;
	struct unit_header header;
	struct warnings warnings;
	struct unit unit;
	struct die die;
	range_vec ranges;
};

static struct listing *listing(uint16_t version, uint8_t addr_size, struct span lists)
{
	struct listing *l = calloc(1, sizeof(*l));
	l->header = (struct unit_header){.version = version, .addr_size = addr_size, .off_size = 4};
	l->dwarf.ranges = l->dwarf.rnglists = lists;
	l->unit = (struct unit){
		.dwarf = &l->dwarf, .main = &l->dwarf, .header = &l->header, .warnings = &l->warnings};
	l->unit.budget = budget_of(1000);
	l->die.present = 1u << SLOT_RANGES;
	l->die.attr[SLOT_RANGES] = (struct value){.class = VALUE_UINT};
	return l;
}

static void assert_ranges(struct listing *l, size_t n, const struct range *want, uint64_t odd)
{
	assert_int_equal(die_ranges(&l->unit, &l->die, ACCOUNT_RECORDS, &l->ranges), 0);
	assert_int_equal(l->ranges.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(l->ranges.v[i].lo, want[i].lo);
		assert_int_equal(l->ranges.v[i].hi, want[i].hi);
	}
	assert_int_equal(l->warnings.kind[WARN_RANGES].count, odd);
	vec_free(&l->ranges);
	free(l);
}

#define RANGES(...)            \
	(const struct range[]) \
	{                      \
		__VA_ARGS__    \
	}

TEST(old_ranges)
{
	struct listing *l =
		listing(4, 4, BYTES("\x10\0\0\0\x20\0\0\0\x30\0\0\0\x30\0\0\0\0\0\0\0\0\0\0\0\1"));
	l->unit.low_pc = 0x1000;
	assert_ranges(l, 2, RANGES({0x1010, 0x1020}, {0x1030, 0x1030}), 0);
	l = listing(4, 4,
		    BYTES("\xff\xff\xff\xff\0\x50\0\0\x10\0\0\0\x20\0\0\0\xff\xff\xff\xff\xfe\xff\xff\xff\1\0"
			  "\0\0\2\0\0\0"
			  "\xff\xff\xff\xff\xfd\xff\xff\xff\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0"));
	assert_ranges(l, 2, RANGES({0x5010, 0x5020}, {0xfffffffd, 1}), 0);
	l = listing(4, 4, BYTES("\x10\0\0\0\x20\0\0\0\x30\0\0\0\x40\0\0"));
	assert_ranges(l, 1, RANGES({0x10, 0x20}), 1);
	l = listing(4, 2, BYTES("\x10\0\x20\0\xff\xff\0\x40\1\0\2\0\0\0\0\0"));
	assert_ranges(l, 2, RANGES({0x10, 0x20}, {0x4001, 0x4002}), 0);
	l = listing(4, 8,
		    BYTES("........\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
	l->die.attr[SLOT_RANGES].u = 8;
	l->dwarf.mode_bits = 1;
	assert_ranges(l, 1, RANGES({0x10, 0x20}), 0);
	l = listing(4, 4, BYTES("\x11\0\0\0\x21\0\0\0\0\0\0\0\0\0\0\0"));
	l->dwarf.mode_bits = 1;
	assert_ranges(l, 1, RANGES({0x10, 0x20}), 0);
	l = listing(4, 4, BYTES(""));
	assert_ranges(l, 0, NULL, 1);
}

TEST(new_ranges)
{
	static const uint8_t addresses[] = {0xee, 0xee, 0xee, 0xee, 0,    0x10, 0,    0,
					    0,    0x20, 0,    0,    0xff, 0xff, 0xff, 0xff};
	struct listing *l =
		listing(5, 4,
			BYTES("\4\1\2\3\0\x10\1\1\4\x81\1\x90\1\5\0\x30\0\0\4\7\x08\6\0\x40\0\0\x10\x40\0\0"
			      "\7\0\x50\0\0\x20\2\0\1\4\x09\x08\4\x09\x09\1\2\4\0\1\0\7"));
	l->unit.low_pc = 0x100;
	l->unit.addr_base = 4;
	l->dwarf.addr = (struct span){addresses, sizeof(addresses)};
	assert_ranges(l, 8,
		      RANGES({0x101, 0x102}, {0x1000, 0x1010}, {0x2081, 0x2090}, {0x3007, 0x3008},
			     {0x4000, 0x4010}, {0x5000, 0x5020}, {0x1000, 0x2000}, {0x3009, 0x3009}),
		      0);
	l = listing(5, 8, BYTES("\7\0\0\0\0\1\0\0\0\1\x08\0"));
	assert_ranges(l, 1, RANGES({0x100000000, 0x100000001}), 1);
	/* Without an end, and with an index that is out of range. */
	assert_ranges(listing(5, 2, BYTES("\7\0\1\1")), 1, RANGES({0x100, 0x101}), 1);
	static const struct span indexes[] = {BYTES("\3\4\1\0"), BYTES("\1\4\4\1\2\0"), BYTES("\2\0\4\0"),
					      BYTES("\2\4\0\0"),
					      BYTES("\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1\0")};
	for (size_t i = 0; i < ARRAY_SIZE(indexes); i++) {
		l = listing(5, 4, indexes[i]);
		l->dwarf.addr = (struct span){addresses, sizeof(addresses)};
		assert_ranges(l, 0, NULL, 1);
	}
}

/* DW_FORM_rnglistx: through the table of offsets, which count from it. */
TEST(lists_by_index)
{
	const struct span lists = BYTES("\7\7\7\7\x08\0\0\0\x0d\0\0\0\7\1\0\1\0\7\2\0\1\0");
	static const struct range want[] = {{1, 2}, {2, 3}};
	for (uint64_t i = 0; i < 2; i++) {
		struct listing *l = listing(5, 2, lists);
		l->unit.rnglists_base = 4;
		l->die.attr[SLOT_RANGES] = (struct value){.class = VALUE_LIST_INDEX, .u = i};
		assert_ranges(l, 1, &want[i], 0);
	}
	static const uint64_t wrong[] = {5, 0x10000000, UINT64_MAX / 4 + 1, UINT64_MAX / 4, UINT64_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct listing *l = listing(5, 2, lists);
		l->unit.rnglists_base = 4;
		l->die.attr[SLOT_RANGES] = (struct value){.class = VALUE_LIST_INDEX, .u = wrong[i]};
		assert_ranges(l, 0, NULL, 1);
	}
	struct listing *l = listing(5, 2, BYTES("\7\1\0\1\0"));
	l->die.attr[SLOT_RANGES].class = VALUE_STRING;
	assert_ranges(l, 0, NULL, 1);
}

/* Before version 5 those of a split unit are in the main file, at an offset. */
TEST(ranges_of_split_units)
{
	const struct dwarf main_file = {.ranges = BYTES("\x10\0\x20\0\x30\0\x40\0\0\0\0\0"), .mode_bits = 0};
	struct listing *l = listing(4, 2, BYTES("\1\0\2\0\0\0\0\0"));
	l->unit.main = &main_file;
	l->unit.ranges_base = 4;
	assert_ranges(l, 1, RANGES({0x30, 0x40}), 0);
	l = listing(4, 2, BYTES("\1\0\2\0\0\0\0\0"));
	l->unit.ranges_base = 4; /* this is no split unit */
	assert_ranges(l, 1, RANGES({1, 2}), 0);
	l = listing(5, 2, BYTES("\7\1\0\1\0"));
	l->unit.main = &main_file;
	l->unit.ranges_base = 4;
	assert_ranges(l, 1, RANGES({1, 2}), 0);
}

TEST(low_and_high)
{
	static const uint8_t addresses[] = {0x34, 0x12};
	static const struct {
		struct value low, high;
		size_t n;
		struct range want;
	} cases[] = {
		{{.class = VALUE_ADDRESS, .u = 16}, {.class = VALUE_UINT, .u = 5}, 1, {16, 21}},
		{{.class = VALUE_ADDRESS, .u = 16}, {.class = VALUE_SINT, .u = 5}, 1, {16, 21}},
		{{.class = VALUE_ADDRESS, .u = 16}, {.class = VALUE_ADDRESS, .u = 18}, 1, {16, 18}},
		{{.class = VALUE_ADDRESS, .u = 16}, {.class = VALUE_ADDRESS_INDEX, .u = 0}, 1, {16, 0x1234}},
		{{.class = VALUE_ADDRESS_INDEX, .u = 0}, {.class = VALUE_UINT, .u = 0}, 1, {0x1234, 0x1234}},
		{{.class = VALUE_ADDRESS_INDEX, .u = 1}, {.class = VALUE_UINT, .u = 1}, 0, {0, 0}},
		{{.class = VALUE_ADDRESS, .u = 16}, {.class = VALUE_ADDRESS_INDEX, .u = 1}, 0, {0, 0}},
		{{.class = VALUE_NONE}, {.class = VALUE_UINT, .u = 5}, 0, {0, 0}},
		{{.class = VALUE_ADDRESS, .u = 16}, {.class = VALUE_NONE}, 0, {0, 0}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct listing *l = listing(4, 2, BYTES("\1\0\2\0\0\0\0\0"));
		l->dwarf.addr = (struct span){addresses, sizeof(addresses)};
		l->die.present = (uint32_t)(cases[i].low.class != VALUE_NONE) << SLOT_LOW_PC |
				 (uint32_t)(cases[i].high.class != VALUE_NONE) << SLOT_HIGH_PC;
		l->die.attr[SLOT_LOW_PC] = cases[i].low;
		l->die.attr[SLOT_HIGH_PC] = cases[i].high;
		assert_ranges(l, cases[i].n, &cases[i].want, 0);
	}
}

/* A list that is longer than the unit can pay for is cut, which is no damage. */
TEST(ranges_cost)
{
	for (uint64_t paid = 0; paid <= 2; paid++) {
		struct listing *l = listing(4, 2, BYTES("\1\0\2\0\3\0\4\0\0\0\0\0"));
		l->unit.budget.left[ACCOUNT_RECORDS].work = paid * (RANGE_STEPS + 1);
		assert_ranges(l, paid, RANGES({1, 2}, {3, 4}), 0);
		l = listing(5, 2, BYTES("\7\1\0\1\7\3\0\1\0"));
		l->unit.budget.left[ACCOUNT_RECORDS].work = paid * (RANGE_STEPS + 1);
		assert_ranges(l, paid, RANGES({1, 2}, {3, 4}), 0);
	}
	struct listing *l = listing(4, 2, BYTES("\xff\xff\0\1\xff\xff\0\2\1\0\2\0\0\0\0\0"));
	l->unit.budget.left[ACCOUNT_RECORDS].work = RANGE_STEPS + 2;
	assert_ranges(l, 0, NULL, 0);
}

TEST(tombstones)
{
	struct unit_header header = {.addr_size = 2};
	const struct unit unit = {.header = &header};
	assert_int_equal(tombstone(&unit), 0xffff);
	header.addr_size = 4;
	assert_int_equal(tombstone(&unit), 0xffffffff);
	header.addr_size = 8;
	assert_int_equal(tombstone(&unit), UINT64_MAX);
}

/* ---- Paths ---- */

static void assert_path(uint16_t version, const char *comp, const char *dir, uint64_t dir_index,
			const char *name, const char *want_dir, const char *want_base)
{
	const char *dirs[] = {dir};
	struct line_file files[] = {{name, dir_index}};
	const struct line_table table = {
		.version = version, .dirs = {.v = dirs, .n = 1}, .files = {.v = files, .n = 1}};
	struct unit unit = {.comp_dir = comp, .budget = budget_of(1000)};
	struct text_buf made = {0};
	struct span got_dir, got_base;
	assert_int_equal(line_table_path(&table, &unit, version < 5, &made, &got_dir, &got_base), 0);
	if (got_dir.size != strlen(want_dir) || memcmp(got_dir.data, want_dir, got_dir.size) ||
	    got_base.size != strlen(want_base) || memcmp(got_base.data, want_base, got_base.size))
		fail_msg("'%.*s', '%.*s'", (int)got_dir.size, (const char *)got_dir.data, (int)got_base.size,
			 (const char *)got_base.data);
	text_deinit(&made);
}

TEST(paths)
{
	assert_path(4, "/comp", "inc", 1, "a.c", "/comp/inc", "a.c");
	assert_path(4, "/comp", "inc", 0, "a.c", "/comp", "a.c");
	assert_path(4, "/comp", "inc", 2, "a.c", "/comp", "a.c");
	assert_path(4, "/comp", "/inc", 1, "a.c", "/inc", "a.c");
	assert_path(4, "/comp", "inc", 1, "/a.c", "/", "a.c");
	assert_path(4, "/comp", "inc", 1, "//a.c", "/", "a.c");
	assert_path(5, "/comp", "dir", 0, "a.c", "dir", "a.c");
	assert_path(5, "/comp", "dir", 1, "a.c", "/comp", "a.c");
	assert_path(4, "/comp/", "/inc/", 1, "sub/a.c", "/inc/sub", "a.c");
	assert_path(4, "/comp/", "inc/", 1, "sub//a.c", "/comp/inc/sub", "a.c");
	assert_path(4, "", "", 1, "a.c", "", "a.c");
	assert_path(4, "", "", 1, "", "", "");
	assert_path(4, "/comp", "", 1, "", "/", "comp");
	assert_path(4, "/comp", "", 1, "a/", "/comp/a", "");
	assert_path(4, "/comp", "inc", 1, "C:\\dir\\a.c", "C:\\dir", "a.c");
	assert_path(4, "/comp", "inc", 1, "c:/a.c", "c:", "a.c");
	assert_path(4, "/comp", "inc", 1, "z:\\a.c", "", "z:\\a.c");
	assert_path(4, "/comp", "inc", 1, "Z:\\d\\\\a.c", "Z:\\d", "a.c");
	assert_path(4, "/comp", "inc", 1, "\\\\host\\a.c", "\\\\host", "a.c");
	assert_path(4, "/comp", "inc", 1, "\\a.c", "/comp/inc", "\\a.c");
	assert_path(4, "/comp", "inc", 1, "@:/a.c", "/comp/inc/@:", "a.c");
	assert_path(4, "/comp", "inc", 1, "{:/a.c", "/comp/inc/{:", "a.c");
	assert_path(4, "/comp", "inc", 1, "c:a.c", "/comp/inc", "c:a.c");
	assert_path(4, "/comp", "c:\\inc", 1, "a\\b.c", "c:\\inc", "a\\b.c");
}

TEST(path_splitting)
{
	static const char *const cases[][3] = {
		{"a", "", "a"},
		{"/a", "/", "a"},
		{"//a", "/", "a"},
		{"a/b", "a", "b"},
		{"a//b", "a", "b"},
		{"/a///b", "/a", "b"},
		{"a/", "a", ""},
		{"/", "/", ""},
		{"", "", ""},
		{"c:\\", "", "c:\\"},
		{"\\\\", "", "\\\\"},
		{"c:\\d\\b", "c:\\d", "b"},
		{"c:\\d/b", "c:\\d", "b"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct span dir, base;
		path_split(cases[i][0], cases[i][0] + strlen(cases[i][0]), &dir, &base);
		if (dir.size != strlen(cases[i][1]) || memcmp(dir.data, cases[i][1], dir.size) ||
		    base.size != strlen(cases[i][2]) || memcmp(base.data, cases[i][2], base.size))
			fail_msg("%s: '%.*s', '%.*s'", cases[i][0], (int)dir.size, (const char *)dir.data,
				 (int)base.size, (const char *)base.data);
	}
}

TEST(files_of_a_table)
{
	struct line_table table = {.version = 4, .files = {.n = 2}};
	for (uint64_t i = 0; i < 4; i++) {
		table.version = 4;
		assert_int_equal(line_table_has_file(&table, i), i == 1 || i == 2);
		table.version = 5;
		assert_int_equal(line_table_has_file(&table, i), i < 2);
	}
	assert_false(line_table_has_file(&table, UINT64_MAX));
	struct unit unit = {.comp_dir = "/comp"};
	struct text_buf made = {0};
	struct span dir, base;
	assert_int_equal(line_table_path(&table, &unit, 2, &made, &dir, &base), 0);
	assert_int_equal(dir.size + base.size, 0);
	text_deinit(&made);
}

/* What is too long is dropped; what exceeds the budget of the unit is refused. */
TEST(paths_cost)
{
	enum { MOST = 16 * 1024 };
	char *longest = malloc(MOST + 2);
	const char *dirs[] = {longest};
	struct line_file files[] = {{"/name", 0}, {"name", 1}, {longest, 0}};
	const struct line_table table = {
		.version = 4, .dirs = {.v = dirs, .n = 1}, .files = {.v = files, .n = 3}};
	struct unit unit = {.comp_dir = ""};
	struct text_buf made = {0};
	struct span dir, base;
	for (unsigned more = 0; more < 2; more++) {
		memset(longest, 'x', MOST + 1);
		longest[MOST + more] = 0;
		unit.budget = budget_of(10000);
		assert_int_equal(line_table_path(&table, &unit, 2, &made, &dir, &base), 0);
		assert_int_equal(dir.size, more ? 0 : MOST);
		assert_int_equal(base.size, 4);
		unit.budget = budget_of(10000);
		assert_int_equal(line_table_path(&table, &unit, 3, &made, &dir, &base), 0);
		assert_int_equal(dir.size, 0);
		assert_int_equal(base.size, more ? 0 : MOST);
		assert_false(unit.budget.exceeded);
	}
	for (unsigned enough = 0; enough < 2; enough++) {
		unit.budget = budget_of(1000);
		unit.budget.left[ACCOUNT_FILES].work = enough;
		assert_int_equal(line_table_path(&table, &unit, 1, &made, &dir, &base), enough ? 0 : -EDQUOT);
		assert_int_equal(dir.size, enough);
		unit.budget = budget_of(1000);
		unit.budget.left[ACCOUNT_FILES].memory = 7 + enough;
		assert_int_equal(line_table_path(&table, &unit, 1, &made, &dir, &base), enough ? 0 : -EDQUOT);
		assert_int_equal(unit.budget.exceeded, !enough);
	}
	text_deinit(&made);
	free(longest);
}
