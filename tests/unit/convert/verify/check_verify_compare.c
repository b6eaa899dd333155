/* One address of a comparison: what lines, inlined calls and symbols expect, against answers that differ. */
#include "convert/verify/verify_parts.h"

#include "convert/verify/verify_report.h"
#include "tests/lib/unit.h"

#include <string.h>

/* ---- Lines ---- */

/*
 * Files 1 to 3, the second without a name; sequences [10, 50) and [20, 30), which fold, and [60, 70), whose
 * rows have no file with a name.
 */
static struct verify_row rows[] = {{10, 1, 1, 1}, {20, 2, 1, 1}, {20, 3, 1, 3}, {40, 4, 2, 2},
				   {20, 7, 3, 3}, {25, 8, 2, 2}, {60, 9, 2, 2}, {65, 9, 9, 9}};
static struct verify_sequence sequences[] = {{10, 50, 0, 4}, {20, 30, 4, 2}, {60, 70, 6, 2}};
static char file_a[] = "/dir/a.c", file_b[] = "b.c", *files[] = {file_a, NULL, file_b};
static struct verify_lines lines = {
	.rows = {rows, 8, 8}, .sequences = {sequences, 3, 3}, .files = {files, 3, 3}, .first_file = 1};

TEST(rows_of_sequences)
{
	for (uint64_t addr = 0; addr < 80; addr++) {
		const struct verify_row *first = addr < 10   ? NULL
						 : addr < 20 ? &rows[0]
						 : addr < 40 ? &rows[2]
						 : addr < 50 ? &rows[3]
						 : addr < 60 ? NULL
						 : addr < 65 ? &rows[6]
						 : addr < 70 ? &rows[7]
							     : NULL;
		const struct verify_row *second = addr < 20   ? NULL
						  : addr < 25 ? &rows[4]
						  : addr < 30 ? &rows[5]
							      : NULL;
		assert_ptr_equal(verify_lines_find(&lines, addr, 0), first);
		assert_ptr_equal(verify_lines_find(&lines, addr, 1), second);
		assert_null(verify_lines_find(&lines, addr, 2));
	}
	for (int64_t from = 0; from < 2; from++) {
		struct verify_lines l = lines;
		l.first_file = from;
		for (uint64_t i = 0; i < 6; i++)
			assert_ptr_equal(verify_lines_file(&l, i),
					 i >= (uint64_t)from && i - (uint64_t)from < 3
						 ? files[i - (uint64_t)from]
						 : NULL);
	}
	/* A sequence without rows has none. */
	struct verify_sequence empty = {10, 20, 0, 0};
	struct verify_lines l = {.sequences = {&empty, 1, 1}};
	assert_null(verify_lines_find(&l, 15, 0));
}

/* ---- The path of inlined calls ---- */

static struct verify_range ranges[] = {{10, 70}, {20, 40}, {60, 64}, {25, 30}, {25, 35}, {40, 50}, {42, 43}};
static struct verify_node nodes[] = {
	{{"_Zf", "f"}, 0, 0, 0, 1, 0},  {{NULL, "g"}, 1, 100, 1, 2, 1}, {{"_Zh", NULL}, 3, 101, 3, 1, 2},
	{{NULL, "i"}, 1, 102, 4, 1, 2}, {{NULL, "j"}, 0, 103, 5, 1, 1}, {{NULL, NULL}, 2, 104, 6, 1, 2},
};
static struct verify_function function = {.nodes = {nodes, 6, 6}, .ranges = {ranges, 7, 7}};

static struct symbol symbols[] = {{.addr = 5, .size = 1, .name = "other", .type = SYMBOL_FUNC},
				  {.addr = 10, .size = 60, .name = "f.cold", .type = SYMBOL_FUNC},
				  {.addr = 10, .size = 0, .name = "alias", .type = SYMBOL_NOTYPE},
				  {.addr = 11, .size = 0, .name = "late", .type = SYMBOL_FUNC}};
static struct verify_object object = {.symbols = {symbols, 4, 4}};

static struct verify_expected expected_at(uint64_t addr)
{
	struct verify_expected e = {
		.function = &function, .lines = &lines, .object = &object, .addr = addr, .start = 10};
	verify_expect(&e);
	return e;
}

TEST(paths)
{
	static const struct {
		uint64_t from, to;
		size_t n, path[3];
	} table[] = {{10, 20, 1, {0}},    {20, 25, 2, {0, 1}}, {25, 30, 3, {0, 1, 2}}, {30, 35, 3, {0, 1, 3}},
		     {35, 40, 2, {0, 1}}, {40, 42, 2, {0, 4}}, {42, 43, 3, {0, 4, 5}}, {43, 50, 2, {0, 4}},
		     {50, 60, 1, {0}},    {60, 64, 2, {0, 1}}, {64, 70, 1, {0}}};
	for (size_t t = 0; t < sizeof(table) / sizeof(*table); t++)
		for (uint64_t addr = table[t].from; addr < table[t].to; addr++) {
			struct verify_expected e = expected_at(addr);
			assert_int_equal(e.n_path, table[t].n);
			for (size_t i = 0; i < e.n_path; i++)
				assert_int_equal(e.path[i], table[t].path[i]);
			assert_int_equal(e.has_line, addr < 40 || (addr < 30 && addr >= 20));
		}
}

/* Calls within each other are followed up to a limit. */
TEST(deep_paths)
{
	static struct verify_node deep[300];
	static struct verify_range all = {0, 100};
	struct verify_function f = {.nodes = {deep, 300, 300}, .ranges = {&all, 1, 1}};
	struct verify_expected e = {.function = &f, .lines = &lines, .addr = 50};
	for (uint32_t i = 0; i < 300; i++)
		deep[i] = (struct verify_node){.first_range = 0, .n_ranges = 1, .depth = i};
	verify_expect(&e);
	assert_int_equal(e.n_path, VERIFY_PATH_MAX);
	assert_int_equal(e.path[VERIFY_PATH_MAX - 1], VERIFY_PATH_MAX - 1);
}

/* ---- Answers ---- */

static struct gsym_frame frame(const char *name, const char *dir, const char *base, uint32_t line)
{
	return (struct gsym_frame){.name = name, .dir = dir, .base = base, .line = line};
}

static enum verify_class compared(uint64_t addr, size_t n, const struct gsym_frame *frames)
{
	struct verify_expected e = expected_at(addr);
	struct gsym_frame copy[4];
	struct gsym_answer answer = {.frames = copy, .n_frames = n, .func_start = 10, .has_rows = true};
	memcpy(copy, frames, n * sizeof(*frames));
	return verify_compare(&e, &answer);
}

#define COMPARED(addr, ...)                                                                      \
	compared((addr), sizeof((struct gsym_frame[]){__VA_ARGS__}) / sizeof(struct gsym_frame), \
		 (struct gsym_frame[]){__VA_ARGS__})

/* [10, 20) is line 1 of /dir/a.c in f. */
TEST(one_frame)
{
	assert_int_equal(COMPARED(15, frame("_Zf", "/dir", "a.c", 1)), VERIFY_SAME);
	assert_int_equal(COMPARED(15, frame("f.cold", "/dir", "a.c", 1)), VERIFY_SYMBOL_NAME);
	assert_int_equal(COMPARED(15, frame("alias", "/dir", "a.c", 1)), VERIFY_SYMBOL_NAME);
	assert_int_equal(COMPARED(15, frame("other", "/dir", "a.c", 1)), VERIFY_NAME);
	assert_int_equal(COMPARED(15, frame("late", "/dir", "a.c", 1)), VERIFY_NAME);
	assert_int_equal(COMPARED(15, frame("f", "/dir", "a.c", 1)), VERIFY_NAME);
	assert_int_equal(COMPARED(15, frame("_Zf", "/dir", "a.c", 2)), VERIFY_POSITION);
	assert_int_equal(COMPARED(15, frame("_Zf", "/dir", "c.c", 1)), VERIFY_POSITION);
	assert_int_equal(COMPARED(15, frame("_Zf", "/di", "a.c", 1)), VERIFY_POSITION);
	assert_int_equal(COMPARED(15, frame("_Zf", "/dir/", "a.c", 1)), VERIFY_SAME);
	assert_int_equal(COMPARED(15, frame("_Zf", "/dix", "a.c", 1)), VERIFY_POSITION);
	assert_int_equal(COMPARED(15, frame("_Zf", "", "/dir/a.c", 1)), VERIFY_SAME);
	assert_int_equal(COMPARED(15, frame("_Zf", "", "a.c", 1)), VERIFY_POSITION);
	assert_int_equal(COMPARED(15, frame("_Zf", "", "x/dir/a.c", 1)), VERIFY_POSITION);
	assert_int_equal(COMPARED(15, frame("_Zg", "/dir", "a.c", 1), frame("_Zf", "/dir", "a.c", 1)),
			 VERIFY_FRAMES);
	struct verify_expected e = expected_at(15);
	struct gsym_frame f = frame("_Zf", "/dir", "a.c", 1);
	struct gsym_answer answer = {.frames = &f, .n_frames = 1, .func_start = 11, .has_rows = true};
	assert_int_equal(verify_compare(&e, &answer), VERIFY_OTHER_OWNER);
	answer.func_start = 10;
	answer.has_rows = false;
	assert_int_equal(verify_compare(&e, &answer), VERIFY_LINE_LOST);
}

/* [50, 60) has no line, and is in no call. */
TEST(no_line)
{
	struct verify_expected e = expected_at(55);
	struct gsym_frame f = frame("_Zf", "", "", 0);
	struct gsym_answer answer = {.frames = &f, .n_frames = 1, .func_start = 10};
	assert_int_equal(verify_compare(&e, &answer), VERIFY_SAME);
	f.name = "alias";
	assert_int_equal(verify_compare(&e, &answer), VERIFY_SYMBOL_NAME);
	f.name = "g";
	assert_int_equal(verify_compare(&e, &answer), VERIFY_NAME);
	answer.has_rows = true;
	assert_int_equal(verify_compare(&e, &answer), VERIFY_LINE_ADDED);
}

/* At 22 it is line 3 of either file, or line 7 of b.c; g was called in line 100 of /dir/a.c. */
TEST(folded_rows)
{
	const struct gsym_frame call = frame("_Zf", "/dir", "a.c", 100);
	assert_int_equal(COMPARED(22, frame("g", "/dir", "a.c", 3), call), VERIFY_SAME);
	assert_int_equal(COMPARED(22, frame("g", "", "b.c", 3), call), VERIFY_SAME);
	assert_int_equal(COMPARED(22, frame("g", "", "b.c", 7), call), VERIFY_SAME);
	assert_int_equal(COMPARED(22, frame("g", "/dir", "a.c", 7), call), VERIFY_POSITION);
	assert_int_equal(COMPARED(22, frame("g", "/dir", "a.c", 2), call), VERIFY_POSITION);
	/* Where one sequence has no name of a file, the other counts. */
	assert_int_equal(COMPARED(27, frame("_Zh", "/dir", "a.c", 3), frame("g", "", "b.c", 101), call),
			 VERIFY_SAME);
	assert_int_equal(COMPARED(27, frame("_Zh", "/dir", "a.c", 8), frame("g", "", "b.c", 101), call),
			 VERIFY_POSITION);
}

TEST(names_and_calls)
{
	const struct gsym_frame in = frame("g", "/dir", "a.c", 3), call = frame("_Zf", "/dir", "a.c", 100);
	assert_int_equal(COMPARED(22, frame("ns::g", "/dir", "a.c", 3), call), VERIFY_QUALIFIED);
	assert_int_equal(COMPARED(22, frame("n::g", "/dir", "a.c", 3), call), VERIFY_QUALIFIED);
	assert_int_equal(COMPARED(22, frame("::g", "/dir", "a.c", 3), call), VERIFY_NAME);
	assert_int_equal(COMPARED(22, frame("n:xg", "/dir", "a.c", 3), call), VERIFY_NAME);
	assert_int_equal(COMPARED(22, frame("n::h", "/dir", "a.c", 3), call), VERIFY_NAME);
	assert_int_equal(COMPARED(22, frame("ns::g", "/dir", "a.c", 3), frame("alias", "/dir", "a.c", 100)),
			 VERIFY_SYMBOL_NAME);
	assert_int_equal(COMPARED(22, frame("x", "/dir", "a.c", 3), frame("alias", "/dir", "a.c", 100)),
			 VERIFY_NAME);
	/* A name that is mangled is not qualified. */
	assert_int_equal(COMPARED(27, frame("n::_Zh", "/dir", "a.c", 3), frame("g", "", "b.c", 101), call),
			 VERIFY_NAME);
	assert_int_equal(COMPARED(22, in, frame("_Zf", "/dir", "a.c", 99)), VERIFY_CALL);
	assert_int_equal(COMPARED(22, in, frame("_Zf", "/dir", "b.c", 100)), VERIFY_CALL);
	assert_int_equal(COMPARED(27, frame("_Zh", "/dir", "a.c", 3), frame("g", "/dir", "a.c", 101), call),
			 VERIFY_CALL);
	assert_int_equal(COMPARED(27, frame("_Zh", "/dir", "a.c", 3), frame("g", "", "b.c", 101),
				  frame("_Zf", "", "", 100)),
			 VERIFY_CALL);
	/* Calls without a file: the answer has none, whatever the line. */
	assert_int_equal(COMPARED(41, frame("j", "", "", 0), frame("_Zf", "", "", 5)), VERIFY_SAME);
	assert_int_equal(COMPARED(41, frame("j", "", "", 0), frame("_Zf", "", "a.c", 103)), VERIFY_CALL);
	assert_int_equal(COMPARED(41, frame("j", "", "", 0), frame("_Zf", "/dir", "", 103)), VERIFY_CALL);
	assert_int_equal(COMPARED(41, frame("j", "/dir", "a.c", 4), frame("_Zf", "", "", 5)),
			 VERIFY_POSITION);
	assert_int_equal(
		COMPARED(42, frame("anything", "", "", 0), frame("j", "", "", 0), frame("_Zf", "", "", 5)),
		VERIFY_SAME);
	/* File 0 is none before DWARF 5, and the first of the table since. */
	lines.first_file = 0;
	assert_int_equal(COMPARED(41, frame("j", "b.c", "", 0), frame("_Zf", "/dir", "a.c", 103)),
			 VERIFY_POSITION);
	lines.first_file = 1;
}

TEST(first_files)
{
	static struct verify_row row = {40, 4, 2, 2};
	static struct verify_sequence all = {0, 100, 0, 1};
	struct verify_expected e = expected_at(41);
	struct gsym_frame f[] = {frame("j", "", "b.c", 4), frame("_Zf", "/dir", "a.c", 103)};
	struct gsym_answer answer = {.frames = f, .n_frames = 2, .func_start = 10, .has_rows = true};
	for (int64_t from = 0; from < 2; from++) {
		struct verify_lines l = {.rows = {&row, 1, 1},
					 .sequences = {&all, 1, 1},
					 .files = {files, 3, 3},
					 .first_file = from};
		row.file = row.file2 = (uint32_t)(2 + from);
		e.lines = &l;
		verify_expect(&e);
		assert_true(e.has_line);
		f[1] = frame("_Zf", "/dir", "a.c", 103);
		assert_int_equal(verify_compare(&e, &answer), from ? VERIFY_CALL : VERIFY_SAME);
		f[1] = frame("_Zf", "", "", 103);
		assert_int_equal(verify_compare(&e, &answer), from ? VERIFY_SAME : VERIFY_CALL);
	}
}

/* ---- Texts ---- */

TEST(descriptions)
{
	struct verify_expected e = expected_at(27), bare = expected_at(42);
	struct gsym_frame f[] = {frame("h", "/d", "x.c", 5), frame("g", "", "y.c", 6)};
	struct gsym_answer answer = {.frames = f, .n_frames = 2};
	static const char want[] =
		"0x1b: DWARF: _Zh /dir/a.c:3 < g b.c:101 < _Zf /dir/a.c:100; GSYM: h /d/x.c:5 < g y.c:6";
	char text[256];
	verify_describe(&e, &answer, text, sizeof(text));
	assert_string_equal(text, want);
	verify_describe(&bare, NULL, text, sizeof(text));
	assert_string_equal(text, "0x2a: DWARF: ?? ??:0 < j ??:104 < _Zf ??:103; GSYM: nothing");
	for (size_t size = 1; size <= sizeof(want) + 1; size++) {
		memset(text, 'x', sizeof(text));
		verify_describe(&e, &answer, text, size);
		size_t n = size - 1 < sizeof(want) - 1 ? size - 1 : sizeof(want) - 1;
		assert_int_equal(strlen(text), n);
		assert_memory_equal(text, want, n);
		assert_int_equal(text[size], 'x');
	}
}

TEST(reports)
{
	static struct verify_report report;
	for (int class = 0; class < VERIFY_CLASSES; class ++) {
		assert_int_equal(verify_differences(&report),
				 class > VERIFY_DIFFERENT ? (class - VERIFY_DIFFERENT) * 3 : 0);
		report.classes[class].count = 3;
		for (int i = 0; i < VERIFY_EXAMPLES + 2; i++) {
			char text[600];
			memset(text, '0' + i, 599);
			text[i == 1 ? 599 : 1] = 0;
			verify_add_example(&report, (enum verify_class) class, "");
			verify_add_example(&report, (enum verify_class) class, text);
		}
		assert_int_equal(report.classes[class].n_examples, VERIFY_EXAMPLES);
		for (int i = 0; i < VERIFY_EXAMPLES; i++) {
			assert_int_equal(report.classes[class].examples[i][0], '0' + i);
			assert_int_equal(strlen(report.classes[class].examples[i]),
					 i == 1 ? sizeof(verify_example) - 1 : 1);
		}
	}
	assert_string_equal(verify_class_name(VERIFY_MISSING), "DIFFERENT: not in GSYM");
	assert_string_equal(verify_class_name(VERIFY_SAME), "the same");
}

/* ---- Symbols ---- */

TEST(holders)
{
	static struct symbol v[70] = {{.addr = 100, .size = 50, .type = SYMBOL_FUNC},
				      {.addr = 200, .size = 100, .type = SYMBOL_FUNC},
				      {.addr = 200, .size = 10, .type = SYMBOL_FUNC},
				      {.addr = 210, .size = 200, .type = SYMBOL_NOTYPE},
				      {.addr = 400, .size = 10, .type = SYMBOL_FUNC}};
	struct verify_object o = {.symbols = {v, 5, 5}};
	assert_int_equal(verify_object_holder(&o, 100, 110), 100);
	assert_int_equal(verify_object_holder(&o, 101, 150), 100);
	assert_int_equal(verify_object_holder(&o, 101, 151), 101);
	assert_int_equal(verify_object_holder(&o, 50, 60), 50);
	assert_int_equal(verify_object_holder(&o, 220, 300), 200);
	assert_int_equal(verify_object_holder(&o, 220, 301), 220);
	assert_int_equal(verify_object_holder(&o, 200, 201), 200);
	assert_int_equal(verify_object_holder(&o, 405, 411), 405);
	/* So many symbols are looked at, and no more. */
	for (size_t i = 1; i < 70; i++)
		v[i] = (struct symbol){.addr = 100 + i, .type = SYMBOL_NOTYPE};
	for (size_t n = 62; n < 68; n++) {
		o.symbols.n = n;
		assert_int_equal(verify_object_holder(&o, 170, 171), 170);
		v[0].size = 200;
		assert_int_equal(verify_object_holder(&o, 170, 171), n <= 64 ? 100 : 170);
		v[0].size = 50;
	}
}

TEST(code)
{
	struct range text = {10, 20};
	struct object_file file = {.text = {&text, 1, 1}};
	struct verify_object o = {.file = &file};
	assert_false(verify_object_is_code(&o, 9));
	assert_true(verify_object_is_code(&o, 10));
	assert_false(verify_object_is_code(&o, 20));
	file.text.n = 0;
	assert_true(verify_object_is_code(&o, 9));
	assert_true(verify_object_has_symbol(&object, 10, "alias"));
	assert_false(verify_object_has_symbol(&object, 11, "alias"));
	assert_false(verify_object_has_symbol(&object, 5, "alias"));
	assert_true(verify_object_has_symbol(&object, 11, "late"));
	assert_false(verify_object_has_symbol(&object, 12, "late"));
}
