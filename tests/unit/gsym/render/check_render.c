/* The pieces answers are made of: numbers, escapes, addresses; and that running out of memory is told. */
#include <inttypes.h>
#include <stdio.h>

#include "gsym/base/address.h"
#include "gsym/base/escape.h"
#include "gsym/render/render.h"
#include "tests/lib/unit.h"

static void expect_text(const struct text_buf *buf, const char *want)
{
	assert_false(buf->failed);
	assert_int_equal(buf->n, strlen(want));
	assert_memory_equal(buf->v, want, buf->n);
}

TEST(numbers)
{
	static const uint64_t values[] = {0, 1, 9, 10, 15, 16, 255, 1000, UINT32_MAX, 1ull << 63, UINT64_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct text_buf buf = {0};
		char want[128];
		text_dec(&buf, values[i]);
		text_char(&buf, ' ');
		text_hex(&buf, values[i], 16);
		text_char(&buf, ' ');
		text_addr(&buf, values[i]);
		snprintf(want, sizeof(want), "%llu %016llx 0x%llx", (unsigned long long)values[i],
			 (unsigned long long)values[i], (unsigned long long)values[i]);
		expect_text(&buf, want);
		text_deinit(&buf);
	}
}

static void expect_escape(const char *text, enum escape_style style, const char *want)
{
	/* At the start of the buffer, behind something, and in place. */
	struct text_buf buf = {0};
	escape_str(&buf, text, style);
	expect_text(&buf, want);
	text_reset(&buf);
	text_str(&buf, text);
	escape_tail(&buf, 0, style);
	expect_text(&buf, want);
	text_deinit(&buf);
}

TEST(escapes)
{
	static const struct {
		const char *text, *plain, *tsv, *json;
	} cases[] = {
		{"", "", "", ""},
		{"plain name", "plain name", "plain name", "plain name"},
		{"a\tb\nc\rd", "a\\x09b\\x0ac\\x0dd", "a\\tb\\nc\\x0dd", "a\\tb\\nc\\u000dd"},
		{"C:\\a \"b\"", "C:\\a \"b\"", "C:\\\\a \"b\"", "C:\\\\a \\\"b\\\""},
		{"\x1b[31m\x7f", "\\x1b[31m\\x7f", "\\x1b[31m\\x7f", "\\u001b[31m\\u007f"},
		{"\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80",
		 "\xc3\xa9\xf0\x9f\x98\x80"},
		{"\xff-\xc3", "\\xff-\\xc3", "\\xff-\\xc3", "\xef\xbf\xbd-\xef\xbf\xbd"},
		{"\xc0\x80", "\\xc0\\x80", "\\xc0\\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80",
		 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xc2\x9b", "\\xc2\\x9b", "\\xc2\\x9b", "\\u009b"},
		{"\xe2\x80\xae", "\\xe2\\x80\\xae", "\\xe2\\x80\\xae", "\\u202e"},
		{"\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81", "\\xf3\\xa0\\x81\\x81", "\\udb40\\udc41"},
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80",
		 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		expect_escape(cases[i].text, ESCAPE_TEXT, cases[i].plain);
		expect_escape(cases[i].text, ESCAPE_TSV, cases[i].tsv);
		expect_escape(cases[i].text, ESCAPE_JSON, cases[i].json);
	}
}

/* The words of eight bytes that plain text is skipped by must see every special byte at every place. */
TEST(escapes_anywhere)
{
	/* Beside bytes from each end of what stands for itself. */
	static const char plain[] = " !#/0A[]a~";
	for (size_t size = 1; size < 40; size++) {
		for (size_t at = 0; at < size; at++) {
			for (const char *p = plain; *p; p++) {
				char text[64], want[2 * sizeof(text)];
				memset(text, *p, size);
				text[size] = '\0';
				text[at] = '\n';
				snprintf(want, sizeof(want), "%.*s\\n%s", (int)at, text, text + at + 1);
				expect_escape(text, ESCAPE_TSV, want);
			}
		}
	}
}

TEST(every_byte)
{
	for (int c = 1; c < 256 * 3; c++) {
		char text[] = "aaaaaaaaaaaaaaaa";
		struct text_buf buf = {0};
		memset(text, " Aa"[c / 256], sizeof(text) - 1);
		text[7] = (char)(c % 256 ? c % 256 : 1);
		escape_str(&buf, text, ESCAPE_TEXT);
		for (size_t i = 0; i < buf.n; i++)
			assert_in_range((unsigned char)buf.v[i], 0x20, 0x7e);
		text_deinit(&buf);
	}
}

TEST(addresses)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t value;
	} cases[] = {
		{"0x1f", true, 0x1f},
		{"0X1F", true, 0x1f},
		{"1f", true, 0x1f},
		{"deadbeef", true, 0xdeadbeef},
		{"0", true, 0},
		{"0000000000000000000000010", true, 0x10},
		{"ffffffffffffffff", true, UINT64_MAX},
		{"0x10000000000000000", false, 0},
		{"", false, 0},
		{"0x", false, 0},
		{"x1", false, 0},
		{"1g", false, 0},
		{"-1", false, 0},
		{"+1", false, 0},
		{" 1", false, 0},
		{"0x0x1", false, 0},
		{"main", false, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value = 0;
		assert_int_equal(address_parse(cases[i].text, strlen(cases[i].text), &value), cases[i].ok);
		if (cases[i].ok)
			assert_true(value == cases[i].value);
	}
}

/* A line is told at once, or left to others: never differently. */
TEST(address_lines)
{
	static const char digits[] = "0123456789abcdefABCDEFgG/:@`xX \t\r-";
	uint64_t at_once = 0, value = 0;
	assert_int_equal(address_line("0x1f\n2\n", 7, &at_once), 5);
	assert_int_equal(at_once, 0x1f);
	assert_int_equal(address_line("FFFFFFFFFFFFFFFF\n", 17, &at_once), 17);
	assert_true(at_once == UINT64_MAX);
	assert_int_equal(address_line("1f", 2, &at_once), 0);
	assert_int_equal(address_line("\n", 1, &at_once), 0);
	assert_int_equal(address_line("", 0, &at_once), 0);
	uint32_t chance = 1;
	for (int round = 0; round < 100000; round++) {
		char line[24];
		size_t size = 0, most = (size_t)round % 20;
		while (size < most) {
			chance = chance * 1103515245 + 12345;
			line[size++] = digits[(chance >> 16) % (chance & 0x8000 ? 20 : sizeof(digits) - 1)];
		}
		if (round % 3 == 0 && size > 2)
			memcpy(line, "0x", 2);
		line[size] = '\n';
		size_t taken = address_line(line, size + 1, &at_once);
		bool good = address_parse(line, size, &value);
		assert_true(!taken || (good && taken == size + 1 && at_once == value));
		assert_true(taken || !good || size > 16);
		assert_int_equal(address_line(line, size, &at_once), 0);
	}
}

/* Each byte at each place among digits. */
TEST(address_line_bytes)
{
	for (size_t at = 0; at < 16; at++) {
		for (unsigned byte = 0; byte < 256; byte++) {
			char line[] = "0123456789abCDEF\n";
			uint64_t at_once = 0, value = 0;
			line[at] = (char)byte;
			bool good = address_parse(line, 16, &value);
			if (byte == '\n' || (at == 1 && (byte | 0x20) == 'x'))
				continue;
			assert_int_equal(address_line(line, 17, &at_once), good ? 17 : 0);
			assert_true(!good || at_once == value);
		}
	}
}

TEST(numbers_like_printf)
{
	for (unsigned bits = 0; bits <= 64; bits++) {
		for (int step = -3; step <= 3; step++) {
			uint64_t value = (bits < 64 ? 1ULL << bits : 0) + (uint64_t)step, ten = 1;
			while (ten < value / 10)
				ten *= 10;
			const uint64_t values[] = {value, value / 3, ten, ten - 1, ten + 1};
			for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
				char want[64];
				struct text_buf buf = {0};
				text_addr(&buf, values[i]);
				text_char(&buf, ' ');
				text_dec(&buf, values[i]);
				snprintf(want, sizeof(want), "0x%" PRIx64 " %" PRIu64, values[i], values[i]);
				assert_int_equal(buf.n, strlen(want));
				assert_memory_equal(buf.v, want, buf.n);
				text_deinit(&buf);
			}
		}
	}
}

/* A buffer that cannot grow: its capacity is a lie that no addition survives. */
TEST(no_memory)
{
	struct gsym_frame frame = {.name = "main", .dir = "/src", .base = "a.c", .line = 1};
	struct gsym_answer answer = {.frames = &frame, .n_frames = 1, .n_merged = 1, .has_rows = true};
	for (int format = 0; format < RENDER_FORMATS; format++) {
		struct render_options options = {.format = (enum render_format)format,
						 .demangle = DEMANGLE_AUTO};
		struct text_buf buf = {.n = SIZE_MAX, .cap = SIZE_MAX};
		assert_int_equal(render_answer(&buf, 0x1000, &answer, &options), -ENOMEM);
		buf = (struct text_buf){.failed = true};
		assert_int_equal(render_unknown(&buf, 0x1000, &options), -ENOMEM);
		assert_null(buf.v);
	}
}
