/* Labels that bound sections or groups of functions: pairs of names, what is between them, and aliases. */

#include "convert/build/symtab.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

#define FUNC   SYMBOL_FUNC
#define NOTYPE SYMBOL_NOTYPE

enum { SYMBOLS_MAX = 12, OUTSIDE_MAX = 2 };

struct row {
	struct symbol symbols[SYMBOLS_MAX]; /* ascending, up to one without a name */
	const char *want;                   /* the names of markers */
	struct outside_label outside[OUTSIDE_MAX];
};

/* Sections begin at 0x1000 and 0x2000. */
static void check_row(const struct row *row)
{
	struct range bounds[] = {{0x1000, 0x2000}, {0x2000, 0x3000}};
	const range_vec sections = {.v = bounds, .n = ARRAY_SIZE(bounds)};
	struct object_file object = {0};
	struct keyed order[SYMBOLS_MAX];
	bool marked[SYMBOLS_MAX] = {0};
	char found[256] = "";
	size_t n = 0, size = 0;
	for (; n < SYMBOLS_MAX && row->symbols[n].name; n++) {
		assert_int_equal(vec_push(&object.symbols, row->symbols[n]), 0);
		order[n] = (struct keyed){row->symbols[n].addr, (uint32_t)n};
	}
	for (size_t i = 0; i < OUTSIDE_MAX && row->outside[i].name; i++)
		assert_int_equal(vec_push(&object.outside, row->outside[i]), 0);
	assert_int_equal(markers_find(&object, order, n, &sections, marked), 0);
	for (size_t i = 0; i < n; i++)
		if (marked[i])
			size += (size_t)snprintf(found + size, sizeof(found) - size, "%s%s", size ? " " : "",
						 row->symbols[i].name);
	assert_string_equal(found, row->want);
	vec_free(&object.symbols);
	vec_free(&object.outside);
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_row(&rows[i]);
}

/* A label of each name, with a function between them. */
#define PAIR(first, second)                                         \
	{                                                           \
		{0x1010, 0, first, NOTYPE}, {0x1020, 8, "f", FUNC}, \
		{                                                   \
			0x1030, 0, second, NOTYPE                   \
		}                                                   \
	}
#define TEXT_110                                                                                     \
	"a123456789b123456789c123456789d123456789e123456789f123456789g123456789h123456789i123456789" \
	"j123456789k123456789"
#define START_127              \
	TEXT_110 "_"           \
		 "m123456789_" \
		 "start"
#define END_127                \
	TEXT_110 "_"           \
		 "m123456789_" \
		 "end"

TEST(words)
{
	static const struct row rows[] = {
		{PAIR("a_start", "a_end"), "a_start a_end"},
		{PAIR("a_begin", "a_stop"), "a_begin a_stop"},
		{PAIR("a.start", "a.end"), "a.start a.end"},
		{PAIR("start_a", "end_a"), "start_a end_a"},
		{PAIR("a_start_b", "a_stop_b"), "a_start_b a_stop_b"},
		{PAIR("end_a_start", "end_a_end"), "end_a_start end_a_end"},
		/* Not the same thing, or not at its bounds. */
		{PAIR("a_start", "b_end"), ""},
		{PAIR("a_start", "aa_end"), ""},
		{PAIR("aa_start", "a_end"), ""},
		{PAIR("a_start", "a_end_b"), ""},
		{PAIR("a_end", "a_start"), ""},
		{PAIR("a_start", "a_begin"), ""},
		{PAIR("a_end", "a_stop"), ""},
		{PAIR("a_starts", "a_ends"), ""},
		{PAIR("astart", "aend"), ""},
		{PAIR("a", "a_end"), ""},
		/* Of what? */
		{PAIR("_start", "_end"), ""},
		{PAIR("__start__", "__end__"), ""},
		{PAIR("start", "end"), ""},
		{PAIR("_start.", "_end."), "_start. _end."},
	};
	check_rows(rows, ARRAY_SIZE(rows));
}

TEST(what_is_between)
{
	static const struct row rows[] = {
		{{{0x1010, 0, "a_start", NOTYPE}, {0x1030, 0, "a_end", NOTYPE}}, ""},
		{{{0x1010, 0, "a_start", NOTYPE}, {0x1010, 0, "a_end", NOTYPE}}, "a_start a_end"},
		{{{0, 0, "a_start", NOTYPE}, {0, 0, "a_end", NOTYPE}}, "a_start a_end"},
		{{{0x1010, 0, "a_start", NOTYPE}, {0x1020, 0, "l", NOTYPE}, {0x1030, 0, "a_end", NOTYPE}},
		 ""},
		{{{0x1010, 0, "a_start", NOTYPE}, {0x1020, 1, "l", NOTYPE}, {0x1030, 0, "a_end", NOTYPE}},
		 "a_start a_end"},
		{{{0x1010, 0, "a_start", NOTYPE}, {0x1020, 0, "f", FUNC}, {0x1030, 0, "a_end", NOTYPE}},
		 "a_start a_end"},
		{{{0x1010, 0, "a_start", NOTYPE}, {0x1010, 0, "f", FUNC}, {0x1030, 0, "a_end", NOTYPE}},
		 "a_start a_end"},
		{{{0x1010, 0, "f", FUNC}, {0x1010, 0, "a_start", NOTYPE}, {0x1030, 0, "a_end", NOTYPE}},
		 "a_start a_end"},
		{{{0x100f, 0, "f", FUNC}, {0x1010, 0, "a_start", NOTYPE}, {0x1030, 0, "a_end", NOTYPE}}, ""},
		{{{0x1010, 0, "a_start", NOTYPE}, {0x102f, 0, "f", FUNC}, {0x1030, 0, "a_end", NOTYPE}},
		 "a_start a_end"},
		{{{0x1010, 0, "a_start", NOTYPE}, {0x1030, 0, "f", FUNC}, {0x1030, 0, "a_end", NOTYPE}}, ""},
		/* The first start and the last end. */
		{{{0x1010, 0, "a_start", NOTYPE},
		  {0x1018, 0, "f", FUNC},
		  {0x1020, 0, "a_begin", NOTYPE},
		  {0x1030, 0, "a_end", NOTYPE}},
		 "a_start a_begin a_end"},
		{{{0x1010, 0, "a_start", NOTYPE},
		  {0x1018, 0, "a_stop", NOTYPE},
		  {0x1020, 0, "f", FUNC},
		  {0x1030, 0, "a_end", NOTYPE}},
		 "a_start a_stop a_end"},
		/* Functions and labels with a size are what they say. */
		{{{0x1010, 0, "a_start", FUNC}, {0x1020, 8, "f", FUNC}, {0x1030, 0, "a_end", NOTYPE}}, ""},
		{{{0x1010, 0, "a_start", NOTYPE}, {0x1020, 8, "f", FUNC}, {0x1030, 8, "a_end", NOTYPE}}, ""},
		/* The counterpart may lie outside of code. */
		{{{0x1010, 0, "a_start", NOTYPE}, {0x1020, 8, "f", FUNC}}, "a_start", {{0x9000, "a_end"}}},
		{{{0x1020, 8, "f", FUNC}, {0x1030, 0, "a_end", NOTYPE}}, "a_end", {{0x800, "a_start"}}},
		{{{0x1020, 8, "f", FUNC}, {0x1030, 0, "a_end", NOTYPE}}, "", {{0x800, "b_start"}}},
	};
	check_rows(rows, ARRAY_SIZE(rows));
}

/* Counterparts are found among names that begin alike. */
TEST(many_names)
{
	static const struct row rows[] = {
		{{{0x1010, 0, "a_start", NOTYPE},
		  {0x1011, 0, "a_start_b", NOTYPE},
		  {0x1012, 0, "a_start_", NOTYPE},
		  {0x1013, 0, "a_start_bc", NOTYPE},
		  {0x1020, 8, "f", FUNC},
		  {0x1030, 0, "a_end_bc", NOTYPE},
		  {0x1031, 0, "a_end_", NOTYPE},
		  {0x1032, 0, "a_end_b", NOTYPE},
		  {0x1033, 0, "a_end", NOTYPE}},
		 "a_start a_start_b a_start_ a_start_bc a_end_bc a_end_ a_end_b a_end"},
	};
	check_rows(rows, ARRAY_SIZE(rows));
}

/* Linkers define these for a section, whatever is in it. */
TEST(of_linkers)
{
	static const struct row rows[] = {
		{{{0x1010, 0, "__start_a", NOTYPE}, {0x1030, 0, "__stop_a", NOTYPE}}, "__start_a __stop_a"},
		{{{0x1010, 0, "b__start_a", NOTYPE}, {0x1030, 0, "b__stop_a", NOTYPE}},
		 "b__start_a b__stop_a"},
		{{{0x1010, 0, "_start_a", NOTYPE}, {0x1030, 0, "_stop_a", NOTYPE}}, ""},
		{{{0x1010, 0, "b_start_a", NOTYPE}, {0x1030, 0, "b_stop_a", NOTYPE}}, ""},
		{{{0x1010, 0, "__begin_a", NOTYPE}, {0x1030, 0, "__stop_a", NOTYPE}}, ""},
		{{{0x1010, 0, "__start_a", NOTYPE}, {0x1030, 0, "__end_a", NOTYPE}}, ""},
		{{{0x1010, 0, "__start_a", NOTYPE}, {0x1030, 0, "__start_a", NOTYPE}}, ""},
		{{{0x1010, 0, "__stop_a", NOTYPE}, {0x1030, 0, "__start_a", NOTYPE}}, ""},
	};
	check_rows(rows, ARRAY_SIZE(rows));
}

TEST(letters)
{
	static const struct row rows[] = {
		{{{0x1000, 0, "_stext", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "_etext", NOTYPE}},
		 "_stext _etext"},
		{{{0x2000, 0, "__sinit", NOTYPE}, {0x2010, 8, "f", FUNC}, {0x2030, 0, "__einit", NOTYPE}},
		 "__sinit __einit"},
		{{{0x1000, 0, "_text", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "_etext", NOTYPE}},
		 "_text _etext"},
		{{{0x1000, 0, "_stext", NOTYPE}, {0x1010, 8, "f", FUNC}}, "_stext", {{0x9000, "_etext"}}},
		{{{0x1000, 0, "_sa", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "_ea", NOTYPE}}, "_sa _ea"},
		/* No start of a section. */
		{{{0x1001, 0, "_stext", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "_etext", NOTYPE}}, ""},
		{{{0x1010, 8, "f", FUNC}, {0x1030, 0, "_etext", NOTYPE}}, "", {{0x1000, "_stext"}}},
		{{{0x3000, 0, "_stext", NOTYPE}, {0x3010, 8, "f", FUNC}, {0x3030, 0, "_etext", NOTYPE}}, ""},
		/* Nothing is left of the name, or the letter is none. */
		{{{0x1000, 0, "_s", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "_e", NOTYPE}}, ""},
		{{{0x1000, 0, "stext", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "etext", NOTYPE}}, ""},
		{{{0x1000, 0, "_stext", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "_edata", NOTYPE}}, ""},
		{{{0x1000, 0, "_btext", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "_etext", NOTYPE}}, ""},
		{{{0x1000, 0, "_stext", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "__etext", NOTYPE}}, ""},
		{{{0x1000, 0, "_stext", NOTYPE}, {0x1030, 0, "_etext", NOTYPE}}, ""},
		{{{0x1001, 0, "_text", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "_etext", NOTYPE}}, ""},
		/* What could be the end of one name is the start of a section by another. */
		{{{0x1000, 0, "_setext", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x2000, 0, "_etext", NOTYPE}}, ""},
		/* A letter is no counterpart of a word. */
		{{{0x1000, 0, "__sa", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "_end_a", NOTYPE}}, ""},
		{{{0x1000, 0, "_a", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "_a_end", NOTYPE}}, ""},
		{{{0x1000, 0, "_sa", NOTYPE}, {0x1010, 8, "f", FUNC}, {0x1030, 0, "_end_a", NOTYPE}}, ""},
	};
	check_rows(rows, ARRAY_SIZE(rows));
}

/* Other labels at the place of a marker that have its name behind a prefix. */
TEST(aliases)
{
	static const struct row rows[] = {
		{{{0x1010, 0, "x_a_start", NOTYPE},
		  {0x1010, 0, "a_start", NOTYPE},
		  {0x1010, 0, "y_a_start", NOTYPE},
		  {0x1010, 0, "a_start_z", NOTYPE},
		  {0x1010, 0, "start", NOTYPE},
		  {0x1010, 4, "s_a_start", NOTYPE},
		  {0x1010, 0, "f_a_start", FUNC},
		  {0x1011, 0, "o_a_start", NOTYPE},
		  {0x1030, 0, "a_end", NOTYPE},
		  {0x1030, 0, "x_a_end", NOTYPE}},
		 "x_a_start a_start y_a_start a_end x_a_end"},
		/* Of eight markers of one place. */
		{{{0x1010, 0, "a_start", NOTYPE},
		  {0x1010, 0, "a_end", NOTYPE},
		  {0x1010, 0, "b_start", NOTYPE},
		  {0x1010, 0, "b_end", NOTYPE},
		  {0x1010, 0, "c_start", NOTYPE},
		  {0x1010, 0, "c_end", NOTYPE},
		  {0x1010, 0, "d_start", NOTYPE},
		  {0x1010, 0, "d_end", NOTYPE},
		  {0x1010, 0, "e_start", NOTYPE},
		  {0x1010, 0, "e_end", NOTYPE},
		  {0x1010, 0, "xd_end", NOTYPE},
		  {0x1010, 0, "xe_start", NOTYPE}},
		 "a_start a_end b_start b_end c_start c_end d_start d_end e_start e_end xd_end"},
	};
	check_rows(rows, ARRAY_SIZE(rows));
}

TEST(long_names)
{
	static const struct row rows[] = {
		{PAIR(START_127, END_127), START_127 " " END_127},
		{PAIR("l" START_127, "l" END_127), ""},
		/* Of an alias, too. */
		{{{0x1010, 0, "a_start", NOTYPE},
		  {0x1010, 0, TEXT_110 "_12345678_a_start", NOTYPE},
		  {0x1010, 0, TEXT_110 "_123456789_a_start", NOTYPE},
		  {0x1010, 0, "a_end", NOTYPE}},
		 "a_start " TEXT_110 "_12345678_a_start a_end"},
	};
	check_rows(rows, ARRAY_SIZE(rows));
}
