/* Addresses as people and tools write them: every byte in every place, and what is at the limit. */

#include "gsym/base/address.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

static int value_of(int c)
{
	static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
	const char *at = c ? strchr(lower, c) : NULL;
	if (at)
		return (int)(at - lower);
	at = c ? strchr(upper, c) : NULL;
	return at ? (int)(at - upper) : -1;
}

/* A line of @n digits with any byte in place of one of them, or none (@place -1). */
static void check_line(const char *prefix, size_t n, int place, int byte)
{
	char text[40];
	size_t head = strlen(prefix), size = head + n + 1;
	uint64_t want = 0, got = 1;
	bool ok = n > 0 && n <= 16;
	strcpy(text, prefix);
	for (size_t i = 0; i < n; i++) {
		text[head + i] = (int)i == place ? (char)byte : "fE7d9A0b"[i % 8];
		int digit = value_of((unsigned char)text[head + i]);
		ok &= digit >= 0;
		want = want << 4 | (uint64_t)(digit & 15);
	}
	text[head + n] = '\n';
	/* Exactly so many bytes, and more after the newline. */
	char *exact = malloc(size);
	memcpy(exact, text, size);
	bool is_newline = byte == '\n' && place > 0 && place <= 16;
	for (unsigned more = 0; more < 2; more++) {
		memset(text + size, '1', sizeof(text) - size);
		size_t taken =
			more ? address_line(text, sizeof(text), &got) : address_line(exact, size, &got);
		if (is_newline) {
			assert_int_equal(taken, head + (size_t)place + 1);
			continue;
		}
		assert_int_equal(taken, ok ? size : 0);
		if (ok)
			assert_int_equal(got, want);
	}
	free(exact);
}

TEST(lines)
{
	static const char *const prefixes[] = {"", "0x", "0X"};
	for (size_t k = 0; k < 3; k++) {
		for (size_t n = 0; n <= 18; n++) {
			check_line(prefixes[k], n, -1, 0);
			for (int place = 0; place < (int)n; place++)
				for (int byte = 0; byte <= UINT8_MAX; byte++)
					check_line(prefixes[k], n, place, byte);
		}
	}
	/* Without the newline it is not complete. */
	uint64_t value;
	assert_int_equal(address_line("12", 2, &value), 0);
	assert_int_equal(address_line("0x\n", 3, &value), 0);
	assert_int_equal(address_line("x", 0, &value), 0);
}

static const struct {
	const char *text;
	bool parsed;    /* by address_parse() */
	size_t begun;   /* bytes that address_begin() takes; 0: none */
	uint64_t value; /* of either */
} texts[] = {
	{"0", true, 1, 0},
	{"0x0", true, 3, 0},
	{"0X1f", true, 4, 0x1f},
	{"1F", true, 2, 0x1f},
	{"0x", false, 0, 0},
	{"", false, 0, 0},
	{"x1", false, 0, 0},
	{"1x", false, 1, 1},
	{"0x1g", false, 3, 1},
	{"f", true, 0, 0xf},
	{"abcdef0", true, 0, 0xabcdef0},
	{"abcdef01", true, 8, 0xabcdef01},
	{"abcdef012", true, 0, 0xabcdef012},
	{"abcdef0123456789", true, 16, 0xabcdef0123456789},
	{"0xf", true, 3, 0xf},
	{"ffffffffffffffff", true, 16, UINT64_MAX},
	{"0xffffffffffffffff", true, 18, UINT64_MAX},
	{"0000ffffffffffffffff", true, 20, UINT64_MAX},
	{"10000000000000000", false, 0, 0},
	{"0x1ffffffffffffffff", false, 0, 0},
	{"9:", false, 1, 9},
	{"a0000000 x", false, 8, 0xa0000000},
};

TEST(numbers)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = texts[i].text;
		uint64_t value = 77;
		assert_int_equal(address_parse(text, strlen(text), &value), texts[i].parsed);
		if (texts[i].parsed)
			assert_int_equal(value, texts[i].value);
		const char *end = address_begin(text, &value);
		assert_ptr_equal(end, texts[i].begun ? text + texts[i].begun : NULL);
		if (end)
			assert_int_equal(value, texts[i].value);
	}
}

TEST(bare)
{
	for (size_t n = 1; n < 20; n++) {
		assert_int_equal(address_may_be_bare("a", n), n == 8 || n == 16);
		assert_true(address_may_be_bare("0", n));
		assert_true(address_may_be_bare("9", n));
		assert_int_equal(address_may_be_bare("/", n), n == 8 || n == 16);
		assert_int_equal(address_may_be_bare(":", n), n == 8 || n == 16);
	}
}

TEST(offsets)
{
	static const struct {
		const char *text;
		size_t size;
		uint64_t off;
	} names[] = {
		{"f+0x10", 1, 0x10}, {"f+0xF", 1, 0xf}, {"f+0x0", 1, 0},     {"+0x10", 0, 0x10},
		{"f+0x", 4, 0},      {"f+0x1g", 6, 0},  {"f+10", 4, 0},      {"f0x10", 5, 0},
		{"f-0x10", 6, 0},    {"f+1x10", 6, 0},  {"f", 1, 0},         {"", 0, 0},
		{"abc", 3, 0},       {"0x10", 4, 0},    {"f+0x1+0x2", 5, 2}, {"f+0x10000000000000000", 21, 0},
		{"x10", 3, 0},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t size = strlen(names[i].text);
		assert_int_equal(address_cut_offset(names[i].text, &size), names[i].off);
		assert_int_equal(size, names[i].size);
	}
}
