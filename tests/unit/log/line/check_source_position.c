/* Whether a line of a log tells a source file and line already. */
#include "log/line/source_position.h"

#include <string.h>

#include "tests/lib/unit.h"

static struct text_scan scan_of(const char *text)
{
	return scan_from(text, text + strlen(text));
}

static const struct {
	const char *text;
	bool has, at_end;
} rows[] = {
	{"", false, false},
	{" ", false, false},
	{":", false, false},
	{"a.c", false, false},
	{"a.c:", false, false},
	{"a.c:1", true, true},
	{"a.c:x", false, false},
	{"a.c:x a.c:1", true, true},
	{"a.c:1 end", true, false},
	{"a.c:1 \t ", true, true},
	{"a.c:1] end", true, false},
	{"a.c:1]", true, false},
	{"f a.c:1", true, true},
	{"f() at /src/a.c:123", true, true},
	{"a.c: 1", true, false},
	{"a.c :1", true, false},
	{"a.c  :1", false, false},
	{"b:1 a.c", false, false},
	{":1", false, false},
	{".c:1", false, false},
	{"x.c:1", true, true},
	{" .c:1", false, false},
	{"c:1", false, false},
	{"ac:1", false, false},
	{"a.:1", false, false},
	{"a.swift:1", true, true},
	{"a.swifty:1", false, false},
	{"a.swiftyy:1", false, false},
	{"a.c++:1", true, true},
	{"a.c+:1", false, false},
	{"a.C:1", true, true},
	{"a.cC:1", false, false},
	{"a.html:1", false, false},
	{"a.so:1", false, false},
	{"a.F90:1", true, true},
	{"::1", false, false},
	/* As WinDbg writes. */
	{"[d:\\src\\a.cpp @ 12]", true, false},
	{"[d:\\src\\a.cpp @ 12 + 0x3]", true, false},
	{"[d:\\src\\a.cpp @ 12 + 3]", false, false},
	{"[d:\\src\\a.cpp @ 12", false, false},
	{"[d:\\src\\a.cpp @ x]", false, false},
	{"[d:\\src\\a.cpp @12]", false, false},
	{"[d:\\src\\a.exe @ 12]", false, false},
	{" @ 12]", false, false},
	{"a.exe @ 12] a.c:1", true, true},
	/* Compilers of Microsoft write these. */
	{"d:\\src\\a.cpp(12)", true, true},
	{"d:\\src\\a.cpp(12): app", true, false},
	{"x(1) a.cpp(12)", true, true},
	{"a.cpp(12", false, false},
	{"a.cpp(x)", false, false},
	{"a.cpp (12)", false, false},
	{"a.exe(12)", false, false},
};

TEST(positions)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (has_source_position(scan_of(rows[i].text)) != rows[i].has ||
		    ends_with_source_position(scan_of(rows[i].text)) != rows[i].at_end)
			fail_msg("'%s'", rows[i].text);
}

/* Nothing before the text or after it belongs to it. */
TEST(bounds)
{
	static const char text[] = "a.c:12";
	assert_true(has_source_position(scan_from(text, text + 5)));
	assert_false(has_source_position(scan_from(text, text + 4)));
	assert_false(has_source_position(scan_from(text + 1, text + 6)));
	assert_false(has_source_position(scan_from(text + 3, text + 6)));
	assert_false(ends_with_source_position(scan_from(text + 1, text + 6)));
	assert_false(has_source_position(scan_from(text + 6, text + 6)));
}
