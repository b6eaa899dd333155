/* Lines with their frames replaced: how answers look in each style, and what stays as it is. */
#include "log/engine/pending_stack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

enum { FRAMES_MOST = 3, LINE_MOST = 2 };

/*
 * ---- In place of the image ----
 *
 * stack_resolver_answer() is wrapped: no image has answers of all shapes, or fails to give one.
 */

static struct gsym_frame answer_frames[FRAMES_MOST];
static size_t n_answer_frames;
static int answer_err;
static unsigned asked, flags_asked;
static char a_resolver;

int __wrap_stack_resolver_answer(const struct stack_resolver *resolver, const struct resolver_frame *frame,
				 uint32_t i, unsigned flags, struct gsym_answer *answer)
{
	assert_ptr_equal(resolver, &a_resolver);
	assert_int_equal(frame->err, 0);
	assert_int_equal(i, 0);
	asked++;
	flags_asked = flags;
	*answer = (struct gsym_answer){.frames = answer_frames, .n_frames = answer_err ? 0 : n_answer_frames};
	return answer_err;
}

/* ---- Lines ---- */

static struct {
	struct buffered_frame frames[LINE_MOST];
	struct resolver_frame resolved[LINE_MOST];
	struct filter_image images[LINE_MOST];
	struct filter_options options;
	struct text_buf out;
} t;

static const struct gsym_frame in_a = {"alpha", "/src/dir", "a.c", 4, 5, false, false};
static const struct gsym_frame in_b = {"beta", "/src", "b.h", 2, 7, true, false};
static const struct gsym_frame in_c = {"_ZN1f3oneEv", "", "c.cc", 1, 9, true, false};
static const struct gsym_frame no_line = {"_ZN1f3oneEv", "", "", 4, 0, false, false};
static const struct gsym_frame at_start = {"start", "", "", 0, 0, false, false};

static void found(size_t n, const struct gsym_frame *const *frames)
{
	n_answer_frames = n;
	for (size_t i = 0; i < n; i++)
		answer_frames[i] = *frames[i];
}

#define FOUND(...)                                                                 \
	found(sizeof((const struct gsym_frame *[]){__VA_ARGS__}) / sizeof(void *), \
	      (const struct gsym_frame *const[]){__VA_ARGS__})

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	for (size_t i = 0; i < LINE_MOST; i++) {
		t.frames[i].is.address = 0x1234;
		t.frames[i].is.shown = 0x7f001234;
		t.resolved[i] = (struct resolver_frame){.n_kept = 1, .n_bodies = 1, .kind = PC_EXACT};
		strcpy(t.frames[i].is.module.name, "app");
	}
	t.options.demangle = DEMANGLE_AUTO;
	answer_err = 0;
	asked = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	text_deinit(&t.out);
	return 0;
}

/*
 * Writes @marked, in which '{' and '}' stand around what an answer replaces, '^' before the tail, and '~'
 * around a label or symbol.
 */
static void write_line(enum frame_style style, const char *marked)
{
	struct {
		uint32_t tail, from, to;
	} marks[LINE_MOST] = {{0}};
	char line[400];
	uint32_t n = 0;
	size_t k = 0, labels = 0;
	for (const char *p = marked; *p; p++) {
		size_t i = k < LINE_MOST ? k : 0;
		if (*p == '{')
			t.frames[i].is.from = n;
		else if (*p == '^')
			marks[i].tail = n;
		else if (*p == '~')
			*(labels++ % 2 ? &marks[i].to : &marks[i].from) = n;
		else if (*p == '}')
			t.frames[i].is.to = n, marks[i].tail = marks[i].tail ? marks[i].tail : n, k++;
		else
			line[n++] = *p;
	}
	for (size_t i = 0; i < k; i++) {
		struct log_frame *frame = &t.frames[i].is;
		frame->style = (uint8_t)style;
		if (style == STYLE_APPLE)
			frame->label_from = marks[i].from, frame->label_to = marks[i].to;
		else if (style == STYLE_SANITIZER || style == STYLE_MINIDUMP)
			frame->tail = marks[i].tail;
		if (style == STYLE_SYMBOL)
			frame->symbol_from = marks[i].from, frame->symbol_to = marks[i].to;
	}
	const struct resolved_line resolved = {line, n, t.frames, t.resolved, t.images, k};
	struct gsym_answer answer = {.n_frames = 0};
	text_deinit(&t.out);
	/* Appended to the output. */
	text_lit(&t.out, "before\n");
	log_line_write(&t.out, &resolved, (const struct stack_resolver *)&a_resolver, &answer, &t.options);
}

static void becomes(enum frame_style style, const char *marked, const char *expected)
{
	write_line(style, marked);
	text_char(&t.out, 0);
	assert_false(t.out.failed);
	assert_memory_equal(t.out.v, "before\n", 7);
	assert_string_equal(t.out.v + 7, expected);
}

/* ---- Styles ---- */

TEST(apple)
{
	const char *line = "0 ~app~ 0x1234 {x + 4}\n";
	FOUND(&in_a);
	becomes(STYLE_APPLE, line, "0 app 0x1234 alpha (in app) (a.c:5)\n");
	assert_int_equal(flags_asked, GSYM_LOOKUP_FIRST_ROW);
	FOUND(&no_line);
	becomes(STYLE_APPLE, line, "0 app 0x1234 f::one() (in app) + 4\n");
	t.resolved[0].kind = PC_RETURN; /* the answer is that of the byte before */
	becomes(STYLE_APPLE, line, "0 app 0x1234 f::one() (in app) + 5\n");
	t.resolved[0].kind = PC_ADJUSTED;
	becomes(STYLE_APPLE, line, "0 app 0x1234 f::one() (in app) + 4\n");
	FOUND(&in_b, &in_a);
	becomes(STYLE_APPLE, line,
		"0 app 0x1234 beta (in app) (b.h:7) [inlined]\n"
		"0 app 0x1234 alpha (in app) (a.c:5)\n");
}

TEST(kernel)
{
	const char *line = "[1.0] {alpha+0x4/0x10}\n";
	FOUND(&in_a);
	becomes(STYLE_KERNEL, line, "[1.0] alpha (/src/dir/a.c:5)\n");
	assert_int_equal(flags_asked, 0);
	FOUND(&in_b, &in_a);
	becomes(STYLE_KERNEL, line,
		"[1.0] beta (/src/b.h:7) [inlined]\n"
		"[1.0] alpha (/src/dir/a.c:5)\n");
	FOUND(&no_line); /* adds nothing to what the kernel says */
	becomes(STYLE_KERNEL, line, "[1.0] alpha+0x4/0x10\n");
}

TEST(sanitizers)
{
	const char *line = "#0 0x1234{ ^(app+0x34)}\n";
	FOUND(&in_a);
	becomes(STYLE_SANITIZER, line, "#0 0x1234 in alpha /src/dir/a.c:5\n");
	FOUND(&no_line);
	becomes(STYLE_SANITIZER, line, "#0 0x1234 in f::one()(app+0x34)\n");
	FOUND(&in_c, &in_b, &in_a);
	becomes(STYLE_SANITIZER, line,
		"#0 0x1234 in f::one() c.cc:9\n"
		"#0 0x1234 in beta /src/b.h:7\n"
		"#0 0x1234 in alpha /src/dir/a.c:5\n");
	FOUND(&in_a);
	becomes(STYLE_THREADS, "#0 {<null> <null>} (app+0x34)\n", "#0 alpha /src/dir/a.c:5 (app+0x34)\n");
	FOUND(&no_line);
	becomes(STYLE_THREADS, "#0 {<null> <null>} (app+0x34)\n", "#0 f::one() <null> (app+0x34)\n");
	FOUND(&in_b, &in_a);
	becomes(STYLE_SUMMARY, "SUMMARY: {(app+0x34)}\n", "SUMMARY: /src/b.h:7 in beta\n");
	FOUND(&no_line);
	becomes(STYLE_SUMMARY, "SUMMARY: {(app+0x34)}\n", "SUMMARY: (app+0x34) in f::one()\n");
}

TEST(android)
{
	FOUND(&in_a);
	becomes(STYLE_ANDROID, "#00 pc 1234  app{}\n", "#00 pc 1234  app (alpha /src/dir/a.c:5)\n");
	FOUND(&no_line);
	t.resolved[0].kind = PC_RETURN;
	becomes(STYLE_ANDROID, "#00 pc 1234  app{}\n", "#00 pc 1234  app (f::one()+4)\n");
}

TEST(sentences)
{
	FOUND(&in_b, &in_a);
	becomes(STYLE_COREDUMP, "#1 0x1234 {n/a} (app)\n",
		"#1 0x1234 beta at /src/b.h:7\n#1 0x1234 alpha at /src/dir/a.c:5 (app)\n");
}

TEST(coredumps)
{
	FOUND(&no_line);
	becomes(STYLE_COREDUMP, "#1 0x1234 {n/a} (app)\n", "#1 0x1234 f::one() (app)\n");
	FOUND(&in_b, &in_a);
	becomes(STYLE_PC, "pc={0x1234} sp=0\n", "pc=beta[/src/b.h:7] sp=0\n");
	FOUND(&no_line);
	becomes(STYLE_PC, "pc={0x1234} sp=0\n", "pc=f::one() sp=0\n");
}

/* Columns, however long the number is. */
TEST(backtraces)
{
	static const struct {
		uint32_t number;
		const char *inlined, *outer;
	} rows[] = {
		{0, "    #0.1  ", "    #0    "},        {9, "    #9.1  ", "    #9    "},
		{10, "   #10.1  ", "   #10    "},       {99, "   #99.1  ", "   #99    "},
		{9999, " #9999.1  ", " #9999    "},     {10000, "#10000.1  ", "#10000    "},
		{123456, "#123456.1  ", "#123456    "},
	};
	char expected[300];
	FOUND(&in_b, &in_a);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		t.frames[0].is.number = rows[i].number;
		snprintf(expected, sizeof(expected),
			 "%s0x000000007f001234 beta /src/b.h:7 (app+0x1234)\n"
			 "%s0x000000007f001234 alpha /src/dir/a.c:5 (app+0x1234)\n",
			 rows[i].inlined, rows[i].outer);
		becomes(STYLE_BACKTRACE, "{x}\n", expected);
	}
	t.frames[0].is.number = 3;
	t.resolved[0].kind = PC_RETURN; /* as addr2line wants it */
	FOUND(&no_line);
	becomes(STYLE_BACKTRACE, "{x}\n", "    #3    0x000000007f001233 f::one() (app+0x1233)\n");
}

/* The name of the module comes from the log. */
TEST(escaped)
{
	strcpy(t.frames[0].is.module.name, "a\tb");
	FOUND(&at_start);
	becomes(STYLE_BACKTRACE, "{x}\n", "    #0    0x000000007f001234 start (a\\x09b+0x1234)\n");
}

TEST(plain)
{
	FOUND(&in_c, &in_b, &in_a);
	becomes(STYLE_PLAIN, "app+0x1234{} rest\n",
		"app+0x1234 f::one() at c.cc:9 (inlined by) beta at /src/b.h:7 (inlined by) alpha at "
		"/src/dir/a.c:5 "
		"rest\n");
	FOUND(&no_line);
	becomes(STYLE_PLAIN, "app+0x1234{} rest\n", "app+0x1234 f::one()+0x4 rest\n");
	FOUND(&at_start);
	becomes(STYLE_PLAIN, "app+0x1234{}", "app+0x1234 start");
	t.resolved[0].kind = PC_RETURN;
	becomes(STYLE_PLAIN, "app+0x1234{}", "app+0x1234 start+0x1");
}

/* A log that is filtered again stays as it is; what only begins so does not count. */
TEST(repeated)
{
	static const struct {
		const struct gsym_frame *frame;
		const char *line;
		bool repeated;
	} rows[] = {
		{&in_a, "app+0x12{} alpha at /src/dir/a.c:5\n", true},
		{&in_a, "app+0x12{} alpha at /src/dir/a.c:5", true},
		{&in_a, "app+0x12{} alpha at /src/dir/a.c:5, x\n", true},
		{&in_a, "app+0x12{} alpha at /src/dir/a.c:55\n", false},
		{&in_a, "app+0x12{} alpha at /src/dir/a.c:6\n", false},
		{&in_a, "app+0x12{} alpha\n", false},
		{&no_line, "app+0x12{} f::one()+0x4\n", true},
		{&no_line, "app+0x12{} f::one()\n", true},
		{&no_line, "app+0x12{}   f::one()\n", true},
		{&no_line, "app+0x12{} in f::one()\n", true},
		{&no_line, "app+0x12{} - f::one()\n", true},
		{&no_line, "app+0x12{}: f::one()\n", true},
		{&no_line, "app+0x12{} of f::one()\n", false},
		{&no_line, "app+0x12{} work+0x9\n", true},
		{&at_start, "app+0x12{} in start\n", true},
		{&at_start, "app+0x12{} in starting\n", false},
		{&at_start, "app+0x12{} in star\n", false},
		{&at_start, "app+0x12{}start\n", true},
		{&at_start, "app+0x12{}\n", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char expected[200];
		const char *line = rows[i].line, *end = strchr(line, '}') + 1;
		FOUND(rows[i].frame);
		t.frames[0].is.address = 0x12;
		snprintf(expected, sizeof(expected), "app+0x12%s%s",
			 rows[i].repeated             ? ""
			 : rows[i].frame == &in_a     ? " alpha at /src/dir/a.c:5"
			 : rows[i].frame == &at_start ? " start"
						      : " f::one()+0x4",
			 end);
		becomes(STYLE_PLAIN, line, expected);
	}
	const struct gsym_frame inlined = {"start", "", "", 0, 0, true, false};
	/* Where it replaces something, nothing is repeated; of several functions all must be there. */
	FOUND(&at_start);
	becomes(STYLE_PLAIN, "{x} start\n", " start start\n");
	FOUND(&inlined, &at_start);
	becomes(STYLE_PLAIN, "x{} start\n", "x start (inlined by) start start\n");
	FOUND(&inlined, &no_line);
	becomes(STYLE_PLAIN, "x{} start (inlined by) f::one()\n",
		"x start (inlined by) f::one()+0x4 start (inlined by) f::one()\n");
	FOUND(&in_b, &at_start);
	becomes(STYLE_PLAIN, "x{} start\n", "x beta at /src/b.h:7 (inlined by) start start\n");
}

TEST(minidumps)
{
	const char *line = "0|0|app|{||^|0x4}\n";
	struct gsym_frame odd = {"a|b", "/s|t", "c|d", 0, 3, false, false};
	FOUND(&in_b, &in_a);
	becomes(STYLE_MINIDUMP, line, "0|0|app|beta|/src/b.h|7|0x4\n0|0|app|alpha|/src/dir/a.c|5|0x4\n");
	FOUND(&no_line);
	becomes(STYLE_MINIDUMP, line, "0|0|app|f::one()|||0x4\n");
	FOUND(&odd); /* bars separate fields */
	becomes(STYLE_MINIDUMP, line, "0|0|app|a_b|/s_t/c_d|3|0x4\n");
}

/* ---- JSON ---- */

TEST(ips)
{
	FOUND(&in_a);
	becomes(STYLE_IPS, "[\"a\":1,\"imageIndex\":0{}]\n",
		"[\"a\":1,\"imageIndex\":0,\"symbol\":\"alpha\",\"symbolLocation\":4,\"sourceFile\":\"a.c\","
		"\"sourceLine\":5]\n");
	assert_int_equal(flags_asked, GSYM_LOOKUP_FIRST_ROW);
	FOUND(&no_line);
	t.resolved[0].kind = PC_RETURN;
	becomes(STYLE_IPS, "[\"a\":1{}]\n", "[\"a\":1,\"symbol\":\"f::one()\",\"symbolLocation\":5]\n");
}

TEST(ips_inlined)
{
	FOUND(&in_b, &in_a);
	becomes(STYLE_IPS, "(a:1{})\n",
		"(a:1,\"symbol\":\"beta\",\"symbolLocation\":2,\"sourceFile\":\"b.h\",\"sourceLine\":7,"
		"\"inline\":true},"
		"(a:1,\"symbol\":\"alpha\",\"symbolLocation\":4,\"sourceFile\":\"a.c\",\"sourceLine\":5)\n");
}

#define FILE_A     "\"file\":\"/src/dir/a.c\""
#define FUNCTION_A "\"function\":\"alpha\""
#define OFFSET_A   "\"function_offset\":\"0x0004\""

/* What is null is filled in where it is, what is missing at the end; the rest stays. */
TEST(stackwalk)
{
	t.frames[0].is.number_digits = 4;
	FOUND(&in_a);
	becomes(STYLE_STACKWALK, "({\"file\":null,\"frame\":0,\"function\":null,\"line\": null}),\n",
		"(" FILE_A ",\"frame\":0," FUNCTION_A ",\"line\": 5," OFFSET_A ",\"inlines\":null),\n");
	becomes(STYLE_STACKWALK, "({\"frame\":0})",
		"(\"frame\":0," FILE_A "," FUNCTION_A "," OFFSET_A ",\"inlines\":null,\"line\":5)");
	becomes(STYLE_STACKWALK,
		"({\"file\":\"x\",\"function\":\"y\",\"function_offset\":\"0x1\",\"inlines\":[],\"line\":1})",
		"(\"file\":\"x\",\"function\":\"y\",\"function_offset\":\"0x1\",\"inlines\":[],\"line\":1)");
	FOUND(&no_line);
	becomes(STYLE_STACKWALK, "({\"frame\":0})",
		"(\"frame\":0,\"file\":null,\"function\":\"f::one()\",\"function_offset\":\"0x0004\","
		"\"inlines\":null,"
		"\"line\":null)");
	FOUND(&in_a);
	becomes(STYLE_STACKWALK, "({\"line\":null, })",
		"(\"line\":5," FILE_A "," FUNCTION_A "," OFFSET_A ",\"inlines\":null, )");
	FOUND(&in_c, &in_b, &in_a);
	becomes(STYLE_STACKWALK, "({\"inlines\":null,\"line\":null})",
		"(\"inlines\":[{\"file\":\"c.cc\",\"function\":\"f::one()\",\"line\":9},"
		"{\"file\":\"/src/b.h\",\"function\":\"beta\",\"line\":7}],\"line\":5," FILE_A "," FUNCTION_A
		"," OFFSET_A ")");
}

/* ---- Names ---- */

TEST(demangled)
{
	const struct gsym_frame ada = {"pack__proc", "", "p.adb", 0, 3, false, false};
	FOUND(&ada);
	becomes(STYLE_PC, "{x}", "pack__proc[p.adb:3]");
	t.images[0].has_ada = true;
	becomes(STYLE_PC, "{x}", "pack.proc[p.adb:3]");
	t.options.demangle = DEMANGLE_OFF;
	becomes(STYLE_PC, "{x}", "pack__proc[p.adb:3]");
	t.images[0].has_ada = false;
	FOUND(&no_line);
	becomes(STYLE_PC, "{x}", "_ZN1f3oneEv");
}

/* A mangled name alone needs no image. */
TEST(symbols)
{
	t.resolved[0].err = -ENOENT;
	becomes(STYLE_SYMBOL, "at {~_ZN1f3oneEv~} now\n", "at f::one() now\n");
	becomes(STYLE_SYMBOL, "at {~plain~}\n", "at plain\n");
	becomes(STYLE_SYMBOL, "at {~a\tb~}\n", "at a\\x09b\n");
	assert_int_equal(asked, 0);
	t.options.demangle = DEMANGLE_OFF;
	becomes(STYLE_SYMBOL, "at {~_ZN1f3oneEv~} now\n", "at _ZN1f3oneEv now\n");
}

/* Of functions that share the code one is named, and that there are others. */
TEST(merged)
{
	t.resolved[0].n_bodies = 3;
	t.resolved[0].n_kept = 2;
	FOUND(&in_b, &in_a);
	becomes(STYLE_THREADS, "{x}\n", "beta /src/b.h:7\nalpha /src/dir/a.c:5\n");
	t.options.mark_merged = true;
	becomes(STYLE_THREADS, "{x}\n", "beta /src/b.h:7\nalpha [merged 3] /src/dir/a.c:5\n");
	t.resolved[0].n_kept = 1; /* a call site decides */
	becomes(STYLE_THREADS, "{x}\n", "beta /src/b.h:7\nalpha /src/dir/a.c:5\n");
}

/* ---- Paths ---- */

TEST(stripped)
{
	static const struct {
		const char *strip[3], *root, *path;
	} rows[] = {
		{{NULL}, NULL, "/src/dir/a.c"},
		{{"/src"}, NULL, "dir/a.c"},
		{{"/src/"}, NULL, "dir/a.c"},
		{{"/src///"}, NULL, "dir/a.c"},
		{{"/src/dir"}, NULL, "a.c"},
		{{"/sr"}, NULL, "/src/dir/a.c"},
		{{"/xyz"}, NULL, "/src/dir/a.c"},
		{{"/src/dir/a.c"}, NULL, "/src/dir/a.c"},
		{{"/src/dir/a.cc"}, NULL, "/src/dir/a.c"},
		{{"/other", "/src"}, NULL, "dir/a.c"},
		{{"/src", "/src/dir"}, NULL, "dir/a.c"},
		{{"/src/dir", "/src"}, NULL, "a.c"},
		{{NULL}, "/src", "dir/a.c"},
		{{"/other"}, "/src", "dir/a.c"},
		{{"/src"}, "dir", "dir/a.c"}, /* one of them */
		{{""}, NULL, "src/dir/a.c"},
	};
	char expected[100];
	FOUND(&in_a);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		t.options.strip = rows[i].strip;
		for (t.options.n_strip = 0; rows[i].strip[t.options.n_strip];)
			t.options.n_strip++;
		t.images[0].roots[1] = rows[i].root;
		snprintf(expected, sizeof(expected), "alpha %s:5", rows[i].path);
		becomes(STYLE_THREADS, "{x}", expected);
		snprintf(expected, sizeof(expected), "(\"file\":\"%s\",\"line\":5,", rows[i].path);
		write_line(STYLE_STACKWALK, "({\"file\":null,\"line\":null})");
		assert_memory_equal(t.out.v + 7, expected, strlen(expected));
	}
}

/* ---- Lines with none or several ---- */

TEST(unchanged)
{
	FOUND(&in_a);
	becomes(STYLE_PLAIN, "no frames\r\n", "no frames\r\n");
	becomes(STYLE_PLAIN, "", "");
	t.resolved[0].err = -ENOENT;
	becomes(STYLE_PLAIN, "a {x} b\n", "a x b\n");
	t.resolved[0].err = 0;
	t.resolved[0].n_kept = 0;
	becomes(STYLE_PLAIN, "a {x} b\n", "a x b\n");
	t.resolved[0].n_kept = 1;
	t.frames[0].is.silent = true;
	becomes(STYLE_PLAIN, "a {x} b\n", "a x b\n");
	assert_int_equal(asked, 0);
	t.frames[0].is.silent = false;
	answer_err = -EBADMSG;
	becomes(STYLE_PLAIN, "a {x} b\n", "a x b\n");
	answer_err = 0;
	/* A symbol of the log that has no line says no more. */
	FOUND(&no_line);
	t.frames[0].is.space = FRAME_NAME;
	becomes(STYLE_PLAIN, "a{} b\n", "a b\n");
	FOUND(&in_a);
	becomes(STYLE_PLAIN, "a{} b\n", "a alpha at /src/dir/a.c:5 b\n");
}

TEST(several)
{
	FOUND(&in_a);
	becomes(STYLE_PLAIN, "x{} y{} z\n", "x alpha at /src/dir/a.c:5 y alpha at /src/dir/a.c:5 z\n");
	t.resolved[0].err = -ENOENT;
	becomes(STYLE_PLAIN, "x{} y{} z\n", "x y alpha at /src/dir/a.c:5 z\n");
	t.resolved[0].err = 0;
	t.resolved[1].err = -ENOENT;
	becomes(STYLE_PLAIN, "x{} y{} z\n", "x alpha at /src/dir/a.c:5 y z\n");
	t.resolved[1].err = 0;
	/* No lines are added to a line with several. */
	FOUND(&in_b, &in_a);
	becomes(STYLE_THREADS, "x {0} y {1} z\n",
		"x beta /src/b.h:7 alpha /src/dir/a.c:5 y beta /src/b.h:7 alpha /src/dir/a.c:5 z\n");
}

/* Lines that are added end as the line does. */
TEST(line_ends)
{
	FOUND(&in_b, &in_a);
	becomes(STYLE_THREADS, "x {0}\r\n", "x beta /src/b.h:7\r\nx alpha /src/dir/a.c:5\r\n");
	becomes(STYLE_THREADS, "x {0}", "x beta /src/b.h:7\nx alpha /src/dir/a.c:5");
	becomes(STYLE_THREADS, "{0}\n", "beta /src/b.h:7\nalpha /src/dir/a.c:5\n");
}

TEST(without_memory)
{
	FOUND(&in_a);
	answer_err = -ENOMEM;
	write_line(STYLE_PLAIN, "a {x} b\n");
	assert_true(t.out.failed);
}

EACH_TEST(set_up, tear_down)
