/* Answers as the original programs print them: what their own programs are not compared for. */

#include "cli/symbolizer/answer_style.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/unit.h"

/* The files of these answers are not there. */
int module_object(struct symbol_module *module, struct object_file **ret)
{
	(void)module;
	*ret = NULL;
	return 0;
}

static struct symbol_module module = {.name = (char *)"a.o"};

/* f() at line 5 of /src/a.c, inlined into ns::g() at line 7 of b.c; the place of the third is not known. */
static struct shown_frame frames[] = {
	{.name = "_Z1fv", .dir = "/src", .base = "a.c", .line = 5, .start = 0x1008, .has_start = true},
	{.name = "ns::g", .dir = "", .base = "b.c", .line = 7, .start = 0x1000, .has_start = true},
	{.name = "\"h", .dir = "", .base = "", .line = 0, .start = 0x2000, .has_start = true},
};

/* What is asked, and what is known. */
struct asked {
	struct symbolizer_options options;
	struct symbol_query query;
	const char *error;
	size_t n_frames;
	struct object_symbol data;
	const char *expected;
};

static void check(answer_printer *print, const struct asked *rows, size_t n)
{
	struct text_buf out = {0};
	for (size_t i = 0; i < n; i++) {
		struct symbol_query query = rows[i].query;
		query.module = query.module.text ? query.module : (struct text_part){"a.o", 3};
		struct symbol_answer answer = {.options = &rows[i].options,
					       .query = &query,
					       .module = &module,
					       .error = rows[i].error,
					       .addr = query.addr,
					       .data = rows[i].data.name ? &rows[i].data : NULL};
		answer.frames.v = frames;
		answer.frames.n = rows[i].n_frames;
		text_reset(&out);
		print(&out, &answer);
		text_char(&out, '\0');
		assert_string_equal(out.v, rows[i].expected);
	}
	text_deinit(&out);
}

#define CODE                                       \
	{                                          \
		.kind = QUERY_CODE, .addr = 0x1009 \
	}
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define PLACE(file, name, line, start)                                                         \
	"{\"Column\":0,\"Discriminator\":0,\"FileName\":\"" file "\",\"FunctionName\":\"" name \
	"\",\"Line\":" line ",\"StartAddress\":\"" start "\",\"StartFileName\":\"\",\"StartLine\":0}"

/* Names and messages with characters that would end the text, or a line. */
TEST(escapes)
{
	static const struct asked in_json[] =
		{
			{.query = CODE,
			 .options = {.names = FUNCTION_NAMES_LINKAGE},
			 .n_frames = 3,
			 .expected = "{\"Address\":\"0x1009\",\"ModuleName\":\"a.o\",\"Symbol\":[" PLACE(
				 "/src/a.c", "_Z1fv", "5",
				 "0x1008") "," PLACE("b.c", "g", "7", "0x1000") "," PLACE("", "\\\"h", "0",
											  "0x2000") "]}"},
			{.query = CODE,
			 .error = "no \"x\"",
			 .expected = "{\"Address\":\"0x1009\",\"Error\":{\"Message\":\"no "
				     "\\\"x\\\"\"},\"ModuleName\":\"a.o\"}"},
		},
				  in_text[] = {
					  {.query = {.kind = QUERY_DATA, .addr = 18},
					   .options = {.style = ANSWER_LLVM},
					   .data = {.name = "v\n", .addr = 16, .size = 4},
					   .expected = "v\\x0a\n16 4\n??:?\n\n"},
				  };
	check(answer_print_json, in_json, COUNT(in_json));
	check(answer_print_text, in_text, COUNT(in_text));
}

/* Prints the frame, and removes its first line, which is not of the source. */
static void print_source(struct text_buf *out, struct symbolizer_options options, struct shown_frame frame)
{
	const struct symbol_query query = CODE;
	struct symbol_answer answer = {.options = &options, .query = &query, .module = &module};
	options.style = ANSWER_GNU;
	answer.frames.v = &frame;
	answer.frames.n = 1;
	text_reset(out);
	answer_print_text(out, &answer);
	text_char(out, '\0');
	assert_false(out->failed);
	size_t first = strcspn(out->v, "\n") + 1;
	memmove(out->v, out->v + first, out->n - first);
}

/* Lines around one of a file with twelve, each of which is a letter. */
TEST(context)
{
	char directory[] = "/tmp/check_styles.XXXXXX", path[64];
	static const struct {
		uint32_t line;
		uint64_t n;
		const char *expected;
	} lines[] = {
		{5, 0, ""},
		{0, 3, "1  : a\n2  : b\n3  : \"\\\"\tc\n"},
		{5, 1, "5 >: e\n"},
		{5, 2, "4  : d\n5 >: e\n"},
		{5, 3, "4  : d\n5 >: e\n6  : f\n"},
		{1, 3, "1 >: a\n2  : b\n3  : \"\\\"\tc\n"},
		{2, 3, "1  : a\n2 >: b\n3  : \"\\\"\tc\n"},
		{2, 4, "1  : a\n2 >: b\n3  : \"\\\"\tc\n4  : d\n"},
		{9, 3, "8  : h\n9 >: i\n10  : \\x1b\n"},
		{10, 3, " 9  : i\n10 >: \\x1b\n11  : k\n"},
		{12, 3, "11  : k\n12 >: l\n"},
		{13, 3, "12  : l\n"},
		{20, 3, ""},
	};
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/c", directory);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	fputs("a\nb\n\"\\\"\tc\r\nd\ne\nf\ng\nh\ni\n\x1b\nk\nl", file);
	assert_int_equal(fclose(file), 0);
	struct text_buf out = {0};
	for (size_t i = 0; i < COUNT(lines); i++) {
		print_source(&out, (struct symbolizer_options){.context = lines[i].n},
			     (struct shown_frame){.dir = directory, .base = "c", .line = lines[i].line});
		assert_string_equal(out.v, lines[i].expected);
	}
	const struct symbolizer_options options = {.context = 3};
	print_source(&out, options, (struct shown_frame){.dir = "", .base = path + 1, .line = 1});
	assert_string_equal(out.v, "1 >: a\n2  : b\n3  : \"\\\"\tc\n");
	text_reset(&out);
	struct shown_frame there = {.dir = directory, .base = "c", .line = 5};
	const struct symbolizer_options shown = {.style = ANSWER_GNU, .context = 1, .paths = PATHS_BASE};
	const struct symbol_query query = CODE;
	struct symbol_answer whole = {.options = &shown, .query = &query, .module = &module};
	whole.frames.v = &there;
	whole.frames.n = 1;
	answer_print_text(&out, &whole);
	text_char(&out, '\0');
	assert_string_equal(out.v, "c:5\n5 >: e\n");
	print_source(&out, options, (struct shown_frame){.dir = "", .base = "", .line = 1});
	assert_string_equal(out.v, "");
	print_source(&out, options, (struct shown_frame){.dir = directory, .base = "d", .line = 1});
	assert_string_equal(out.v, "");
	text_deinit(&out);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
}

/* The last part of names that are not mangled. */
TEST(last_parts)
{
	static const char *const names[][2] = {
		{"f", "f"},
		{"ns::f", "f"},
		{"a::b::f", "f"},
		{"::f", "f"},
		{"ns::", "ns::"},
		{"ns:f", "ns:f"},
		{"a<b::c>::f", "f"},
		{"a<b::c>", "a<b::c>"},
		{"(a::b)::f(c::d)", "f(c::d)"},
		{"{a::b}::f", "f"},
		{"[a::b]::f", "f"},
		{"a>::f", "f"},
		{"a::operator<", "operator<"},
		{"a::operator<<b::c>", "operator<<b::c>"},
		{"operator()::f", "operator()::f"},
		{"operators::f", "f"},
		{"operator_::f", "f"},
		{"operator9::f", "f"},
		{"operatorA::f", "f"},
		{"operatorZ::f", "f"},
		{"operatora::f", "f"},
		{"operatorz::f", "f"},
		{"operator0::f", "f"},
		{"operator new::f", "operator new::f"},
		{"a::operator", "operator"},
		{"", ""},
	};
	for (size_t i = 0; i < COUNT(names); i++)
		assert_string_equal(symbol_name_last(names[i][0]), names[i][1]);
}

/* Names as each program shows them: clones and versions are not of the debug information. */
TEST(names)
{
	static const struct {
		const char *stored;
		enum symbolizer_dialect dialect;
		enum function_names names;
		enum demangle_mode demangle;
		bool has_rows;
		const char *expected;
	} rows[] = {
		{"f.cold", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "f"},
		{"f.cold", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, false, "f.cold"},
		{"f.part.0", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "f"},
		{"f.isra.0.cold", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "f"},
		{"f.cold.isra.0", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "f"},
		{"f.constprop.0", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "f"},
		{"f.lto_priv.0", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "f"},
		{"f.localalias", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "f"},
		{"f.llvm.1", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "f"},
		{".cold", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, ".cold"},
		{"f@@V1.cold", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "f"},
		{"f.cold@V1", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "f"},
		{"f@plt", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "f@plt"},
		{"@f", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "@f"},
		{"f@V1", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, false, "f@V1"},
		/* Zig's */
		{"tag_@typeInfo(a.B).tag.?", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true,
		 "tag_@typeInfo(a.B).tag.?"},
		{"f.cold", DIALECT_LLVM, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "f.cold"},
		{"f.cold", DIALECT_LLVM, FUNCTION_NAMES_SHORT, DEMANGLE_OFF, true, "f"},
		{"f.cold", DIALECT_LLVM, FUNCTION_NAMES_SHORT, DEMANGLE_OFF, false, "f.cold"},
		{"_ZN2ns1fEi", DIALECT_LLVM, FUNCTION_NAMES_SHORT, DEMANGLE_OFF, true, "f"},
		{"_ZN2ns1fEi", DIALECT_LLVM, FUNCTION_NAMES_LINKAGE, DEMANGLE_OFF, true, "_ZN2ns1fEi"},
		{"_ZN2ns1fEi", DIALECT_LLVM, FUNCTION_NAMES_LINKAGE, DEMANGLE_AUTO, true, "ns::f(int)"},
		{"_ZN2ns1fEi.cold", DIALECT_LLVM, FUNCTION_NAMES_LINKAGE, DEMANGLE_AUTO, true,
		 "ns::f(int) (.cold)"},
		{"_ZN2ns1fEi.cold", DIALECT_BINUTILS, FUNCTION_NAMES_LINKAGE, DEMANGLE_GNU, true,
		 "ns::f(int)"},
		{"ns::f", DIALECT_LLVM, FUNCTION_NAMES_LINKAGE, DEMANGLE_AUTO, true, "f"},
		{"ns::f", DIALECT_LLVM, FUNCTION_NAMES_SHORT, DEMANGLE_AUTO, true, "f"},
		{"ns::f(int)", DIALECT_LLVM, FUNCTION_NAMES_SHORT, DEMANGLE_AUTO, true, "f"},
		{"f\n", DIALECT_LLVM, FUNCTION_NAMES_LINKAGE, DEMANGLE_AUTO, true, "f\\x0a"},
	};
	struct text_buf out = {0};
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct symbolizer_options options = {
			.dialect = rows[i].dialect, .names = rows[i].names, .demangle = rows[i].demangle};
		const struct symbol_answer answer = {
			.options = &options, .module = &module, .found = {.has_rows = rows[i].has_rows}};
		text_reset(&out);
		text_lit(&out, "<");
		symbol_name_append(&out, &answer, rows[i].stored, ESCAPE_TEXT);
		text_char(&out, '\0');
		assert_string_equal(out.v + 1, rows[i].expected);
	}
	text_deinit(&out);
}

/* Names of Ada, where the image has any; and names of parts, which are not kept with those of the file. */
TEST(names_of_image)
{
	struct symbolizer_options options = {
		.dialect = DIALECT_BINUTILS, .names = FUNCTION_NAMES_LINKAGE, .demangle = DEMANGLE_GNU};
	struct symbol_module ada = {.image.demangle = DEMANGLE_ADA, .names = demangle_cache_new()};
	const struct symbol_answer answer = {
		.options = &options, .module = &ada, .found = {.has_rows = true}};
	static const char *const shown[][2] = {{"pack__inner__proc", "pack.inner.proc"},
					       {"_Z1fv.cold", "f()"},
					       {"_Z1gv.cold", "g()"},
					       {"_Z1hv", "h()"}};
	struct text_buf out = {0};
	for (size_t i = 0; i < COUNT(shown); i++) {
		text_reset(&out);
		symbol_name_append(&out, &answer, shown[i][0], ESCAPE_TEXT);
		text_char(&out, '\0');
		assert_string_equal(out.v, shown[i][1]);
	}
	options.demangle = DEMANGLE_OFF;
	text_reset(&out);
	symbol_name_append(&out, &answer, shown[0][0], ESCAPE_TEXT);
	text_char(&out, '\0');
	assert_string_equal(out.v, shown[0][0]);
	text_deinit(&out);
	demangle_cache_free(ada.names);
}
