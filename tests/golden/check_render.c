/* The pieces answers are made of: numbers, escapes, addresses; and that running out of memory is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "gsym/base/address.h"
#include "gsym/render/escape.h"
#include "gsym/render/render.h"

static void expect_text(const struct text_buf *buf, const char *want)
{
	assert_false(buf->failed);
	assert_int_equal(buf->n, strlen(want));
	assert_memory_equal(buf->v, want, buf->n);
}

static void numbers(void **state)
{
	(void)state;
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

static void escapes(void **state)
{
	(void)state;
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
static void escapes_anywhere(void **state)
{
	(void)state;
	for (size_t size = 1; size < 40; size++) {
		for (size_t at = 0; at < size; at++) {
			char text[64], want[64];
			memset(text, 'a', size);
			text[size] = '\0';
			text[at] = '\n';
			snprintf(want, sizeof(want), "%.*s\\n%s", (int)at, text, text + at + 1);
			expect_escape(text, ESCAPE_TSV, want);
		}
	}
}

static void every_byte(void **state)
{
	(void)state;
	for (int c = 1; c < 256; c++) {
		char text[] = "aaaaaaaaaaaaaaaa";
		struct text_buf buf = {0};
		text[7] = (char)c;
		escape_str(&buf, text, ESCAPE_TEXT);
		for (size_t i = 0; i < buf.n; i++)
			assert_in_range((unsigned char)buf.v[i], 0x20, 0x7e);
		text_deinit(&buf);
	}
}

static void addresses(void **state)
{
	(void)state;
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

static void format_names(void **state)
{
	(void)state;
	enum render_format format;
	assert_int_equal(render_format_parse("json", &format), 0);
	assert_int_equal(format, RENDER_JSON);
	assert_int_equal(render_format_parse("xml", &format), -EINVAL);
	assert_int_equal(render_format_parse("", &format), -EINVAL);
}

/* A buffer that cannot grow: its capacity is a lie that no addition survives. */
static void no_memory(void **state)
{
	(void)state;
	struct gsym_frame frame = {.name = "main", .dir = "/src", .base = "a.c", .line = 1};
	struct gsym_answer answer = {.frames = &frame, .n_frames = 1, .n_merged = 1, .has_rows = true};
	for (int format = RENDER_TEXT; format <= RENDER_GSYMUTIL; format++) {
		struct render_options options = {.format = (enum render_format)format,
						 .demangle = DEMANGLE_AUTO};
		struct text_buf buf = {.n = SIZE_MAX, .cap = SIZE_MAX};
		assert_int_equal(render_answer(&buf, 0x1000, &answer, &options), -ENOMEM);
		buf = (struct text_buf){.failed = true};
		assert_int_equal(render_unknown(&buf, 0x1000, &options), -ENOMEM);
		assert_null(buf.v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),    cmocka_unit_test(escapes),   cmocka_unit_test(escapes_anywhere),
		cmocka_unit_test(every_byte), cmocka_unit_test(addresses), cmocka_unit_test(format_names),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
