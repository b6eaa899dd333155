/*
 * Logs of every format through the filter: what it recognises and writes, and that nothing else changes,
 * however the input is cut and whenever an image is late.
 */
#include "sample.h"

#include "gsym/filter/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "0102030405060708090a0b0c0d0e0f10"

enum { BASE = 0x1000 };

/* What the filter asks for images. */
struct source {
	struct gsym_reader *reader;
	void *data;
	unsigned late; /* times to answer -EAGAIN yet, to each question */
	unsigned asked;
	char name[FILTER_NAME_SIZE]; /* of the module asked for last */
};

static int find(void *user, const struct filter_module *module, struct filter_image *ret)
{
	struct source *source = user;
	source->asked++;
	strcpy(source->name, module->name);
	if (strcmp(module->id, ID) != 0 && (module->id[0] || strcmp(module->name, "vmlinux") != 0))
		return -ENOENT;
	if (source->late) {
		source->late--;
		return -EAGAIN;
	}
	*ret = (struct filter_image){.reader = source->reader, .base = BASE};
	return 0;
}

static void add_folded(struct sample *s, uint32_t file)
{
	const struct gsym_row rows[] = {{0, file, 60}, {0, file, 61}, {0, file, 70}};
	const uint64_t pattern = sample_string(s, "two");
	const struct gsym_callsite site = {.return_off = 0x10, .n_patterns = 1};
	const struct gsym_func two = {.start = BASE + 0x140,
				      .size = 0x40,
				      .name = sample_string(s, "two"),
				      .rows = &rows[1],
				      .n_rows = 1};
	struct gsym_func one = two, caller = two;
	one.name = sample_string(s, "one");
	one.rows = &rows[0];
	one.merged = &two;
	one.n_merged = 1;
	caller.start = BASE + 0x180;
	caller.name = sample_string(s, "caller");
	caller.rows = &rows[2];
	caller.callsites = &site;
	caller.n_callsites = 1;
	caller.patterns = &pattern;
	caller.n_patterns = 1;
	assert_int_equal(gsym_writer_add(s->writer, &one, NULL), 0);
	assert_int_equal(gsym_writer_add(s->writer, &caller, NULL), 0);
}

static void add_assembly(struct sample *s)
{
	const struct gsym_row row = {0, sample_file(s, "/src", "e.S"), 85};
	const struct gsym_func entry = {.start = BASE + 0xf0,
					.size = 0x10,
					.name = sample_string(s, "entry"),
					.rows = &row,
					.n_rows = 1};
	assert_int_equal(gsym_writer_add(s->writer, &entry, NULL), 0);
}

/*
 * alpha() at 0x1000 with beta() inlined at 0x1008, f::one() without lines at 0x1040, twin() twice, with other
 * sizes, at 0x1080, both() with two rows at its start, 0x1100. one() and two() share the code at 0x1140,
 * caller() at 0x1180 calls two() in its line 70. The weak() after live(), at 0x11e0, is overridden by the
 * one at 0x1210. entry(), at 0x10f0, is assembly.
 */
static void make(struct source *source)
{
	struct sample s;
	sample_init(&s, sample_kinds[0], BASE);
	uint32_t file = sample_file(&s, "/src", "a.c"), header = sample_file(&s, "/src", "b.h");
	const struct gsym_row rows[] = {{0, file, 5}, {8, header, 7}, {16, file, 6}};
	const struct gsym_row two[] = {{0, file, 50}, {0, file, 51}};
	const struct gsym_range range = {8, 8};
	const struct gsym_inline inlined = {
		.name = sample_string(&s, "beta"),
		.call_file = file,
		.call_line = 5,
		.depth = 1,
		.n_ranges = 1,
	};
	struct gsym_func alpha = {
		.start = BASE,
		.size = 0x40,
		.name = sample_string(&s, "alpha"),
		.rows = rows,
		.n_rows = 3,
		.inlines = &inlined,
		.n_inlines = 1,
		.ranges = &range,
		.n_ranges = 1,
	};
	struct gsym_func both = {.start = BASE + 0x100,
				 .size = 0x20,
				 .name = sample_string(&s, "both"),
				 .rows = two,
				 .n_rows = 2};
	assert_int_equal(gsym_writer_add(s.writer, &alpha, NULL), 0);
	sample_func(&s, 0x40, 0x40, "_ZN1f3oneEv", 0);
	sample_func(&s, 0x80, 0x20, "twin", 20);
	sample_func(&s, 0xa0, 0x30, "twin", 30);
	sample_func(&s, 0xe0, 0x10, "bad\nname\x1b[1m", 40);
	add_assembly(&s);
	assert_int_equal(gsym_writer_add(s.writer, &both, NULL), 0);
	add_folded(&s, file);
	sample_func(&s, 0x1c0, 0x20, "live", 80);
	sample_func(&s, 0x1e0, 0x10, "weak", 81);
	sample_func(&s, 0x200, 0x10, "after", 82);
	sample_func(&s, 0x210, 0x10, "weak", 83);
	sample_func(&s, 0x220, 0x10, "final", 84);
	*source = (struct source){.reader = NULL};
	source->reader = sample_open(&s, &source->data);
}

static void drop(struct source *source)
{
	gsym_reader_close(source->reader);
	free(source->data);
}

static struct filter *filter_of(struct source *source)
{
	const struct filter_images images = {.find = find, .user = source};
	const struct filter_options options = {.demangle = DEMANGLE_AUTO};
	struct filter *filter = filter_new(&images, &options);
	assert_non_null(filter);
	return filter;
}

/*
 * Writes all of @in, in pieces that end before each of the @n @cuts, again and again while an image is late.
 */
static void run(struct source *source, const char *in, size_t size, const size_t *cuts, size_t n,
		struct text_buf *out)
{
	struct filter *filter = filter_of(source);
	size_t at = 0, used;
	text_reset(out);
	for (size_t i = 0; i <= n; i++) {
		size_t end = i < n ? cuts[i] : size;
		enum filter_rest rest = i < n ? FILTER_MORE : FILTER_END;
		int err;
		do {
			err = filter_write(filter, in + at, end - at, rest, out, &used);
			at += used;
			assert_true(!err || err == -EAGAIN);
		} while (err);
		assert_int_equal(at, end);
	}
	filter_free(filter);
}

/* A filter that is written to bit by bit. */
struct running {
	struct source source;
	struct filter *filter;
	struct text_buf out;
	size_t used;
};

static void begin(struct running *r)
{
	*r = (struct running){.used = 0};
	make(&r->source);
	r->filter = filter_of(&r->source);
}

static int feed(struct running *r, const char *text, enum filter_rest rest)
{
	return filter_write(r->filter, text, strlen(text), rest, &r->out, &r->used);
}

static void end(struct running *r)
{
	filter_free(r->filter);
	text_deinit(&r->out);
	drop(&r->source);
}

static void check(const char *in, const char *expected)
{
	struct source source;
	struct text_buf out = {0};
	make(&source);
	run(&source, in, strlen(in), NULL, 0, &out);
	text_char(&out, '\0');
	assert_string_equal(out.v, expected);
	text_deinit(&out);
	drop(&source);
}

static void unchanged(const char *in)
{
	check(in, in);
}

static void plain(void **state)
{
	(void)state;
	check("at " ID "+0x4, and\n", "at " ID "+0x4 alpha at /src/a.c:5, and\n");
	check("01020304-0506-0708-090A-0B0C0D0E0F10 0x1009\r\n",
	      "01020304-0506-0708-090A-0B0C0D0E0F10 0x1009 beta at /src/b.h:7 (inlined by) alpha at "
	      "/src/a.c:5\r\n");
	check("two: " ID "+0x4 " ID "+0x44", "two: " ID "+0x4 alpha at /src/a.c:5 " ID "+0x44 f::one()+0x4");
	check("#0 " ID " 0x1010\n#1 " ID " 0x1010\n",
	      "#0 " ID " 0x1010 alpha at /src/a.c:6\n#1 " ID
	      " 0x1010 beta at /src/b.h:7 (inlined by) alpha at /src/a.c:5\n");
	check(ID "+0xe4\n", ID "+0xe4 bad\\x0aname\\x1b[1m at /src/a.c:40\n");
	unchanged("x" ID "+0x4\n" ID "ff+0x4\n" ID "+0x4g\n" ID "+4\n" ID "0x4\n" ID "+0xfff\n" ID " +0x4\n");
	unchanged(ID " 0x10000000000001009\n" ID "+0xffffffffffffffff\n");
}

static void sanitizers(void **state)
{
	(void)state;
	check("    #0 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: " ID ")\n"
	      "    #1 0x55c8ec9c41cc in ?? (/bin/x+0x9) (BuildId: " ID ")\n"
	      "    #2 0x55c8ec9c41ec  (/bin/x+0x44) (BuildId: " ID ") \n\n",
	      "    #0 0x55c8ec9c41aa in alpha /src/a.c:5\n"
	      "    #1 0x55c8ec9c41cc in beta /src/b.h:7\n"
	      "    #1 0x55c8ec9c41cc in alpha /src/a.c:5\n"
	      "    #2 0x55c8ec9c41ec in f::one() (/bin/x+0x44) (BuildId: " ID ") \n\n");
	check("SUMMARY: AddressSanitizer: stack-overflow (/bin/x+0x4) (BuildId: " ID ") \n",
	      "SUMMARY: AddressSanitizer: stack-overflow /src/a.c:5 in alpha \n");
	/* LLVM's own programs print return addresses as they are. */
	check(" #0 0x000055c8ec9c41aa f(int) (/bin/x+0x10) (BuildId: " ID
	      ")\n #1 0x000055c8ec9c41aa f(int) (/bin/x+0x10) (BuildId: " ID ")\n",
	      " #0 0x000055c8ec9c41aa in alpha /src/a.c:6\n"
	      " #1 0x000055c8ec9c41aa in beta /src/b.h:7\n"
	      " #1 0x000055c8ec9c41aa in alpha /src/a.c:5\n");
	/* ThreadSanitizer has no addresses. */
	check("    #0 <null> <null> (x+0x4) (BuildId: " ID ")\n    #1 <null> <null> (x+0x9) (BuildId: " ID
	      ")\n"
	      "    #2 f <null> (x+0x44) (BuildId: " ID ")\n    #3 f /a.c:3 (x+0x44) (BuildId: " ID ")\n",
	      "    #0 alpha /src/a.c:5 (x+0x4) (BuildId: " ID ")\n"
	      "    #1 beta /src/b.h:7\n    #1 alpha /src/a.c:5 (x+0x9) (BuildId: " ID ")\n"
	      "    #2 f::one() <null> (x+0x44) (BuildId: " ID ")\n    #3 f /a.c:3 (x+0x44) (BuildId: " ID
	      ")\n");
	check("    #1 0x55c8ec9c41cc  (/bin/x:arm64+0x9) (BuildId: " ID ")\r\n",
	      "    #1 0x55c8ec9c41cc in beta /src/b.h:7\r\n    #1 0x55c8ec9c41cc in alpha /src/a.c:5\r\n");
	unchanged("    #0 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: 00" ID
		  ")\n    #1 0x55c8ec9c41aa in main /a.c:1:2\n#2 0x1 (+0x4)\n"
		  "    #0 0x55c8ec9c41aa  (/bin/x+0x)\n");
}

static void coredumps(void **state)
{
	(void)state;
	check("Module libx.so.1 with build-id " ID "\n"
	      "#0  0x00007f0000000010 n/a (libx.so.1 + 0x10)\n#1  0x00007f0000000010 n/a (libx.so.1 + 0x10)\n"
	      "#2  0x00007f0000000044 _ZN1f3oneEv (libx.so.1 + 0x44)\n#3  0x00007f0000000044 main (liby.so + "
	      "0x44)\n",
	      "Module libx.so.1 with build-id " ID "\n"
	      "#0  0x00007f0000000010 alpha at /src/a.c:6 (libx.so.1 + 0x10)\n"
	      "#1  0x00007f0000000010 beta at /src/b.h:7\n#1  0x00007f0000000010 alpha at /src/a.c:5 "
	      "(libx.so.1 + 0x10)\n"
	      "#2  0x00007f0000000044 f::one() (libx.so.1 + 0x44)\n#3  0x00007f0000000044 main (liby.so + "
	      "0x44)\n");
	check("Module x.so from deb x-1.2 with build-id " ID
	      "\n#0  0x00007f0000000010 n/a (x.so (deleted) + 0x10)\n",
	      "Module x.so from deb x-1.2 with build-id " ID
	      "\n#0  0x00007f0000000010 alpha at /src/a.c:6 (x.so (deleted) + 0x10)\n");
	check("x: Found module /lib/x.so with build-id: " ID "\n#0  0x00007f0000000010 n/a (x.so + 0x10)\n",
	      "x: Found module /lib/x.so with build-id: " ID
	      "\n#0  0x00007f0000000010 alpha at /src/a.c:6 (x.so + 0x10)\n");
	unchanged("Module libx.so.1 without build-id.\n#0  0x00007f0000000010 n/a (libx.so.1 + 0x10)\n");
}

static void android(void **state)
{
	(void)state;
	check("F DEBUG   :       #00 pc 0000000000001004  /system/lib64/x.so (f+4) (BuildId: " ID ")\n"
	      "F DEBUG   :       #01 pc 0000000000001009  /a b.apk!x.so (offset 0x1000) (BuildId: " ID ")\n"
	      "F DEBUG   :       #02 pc 0000000000001044  /x.so (BuildId: " ID ")\n",
	      "F DEBUG   :       #00 pc 0000000000001004  /system/lib64/x.so (alpha /src/a.c:5) (BuildId: " ID
	      ")\n"
	      "F DEBUG   :       #01 pc 0000000000001009  /a b.apk!x.so (offset 0x1000) (beta /src/b.h:7)\n"
	      "F DEBUG   :       #01 pc 0000000000001009  /a b.apk!x.so (offset 0x1000) (alpha /src/a.c:5) "
	      "(BuildId: " ID ")\n"
	      "F DEBUG   :       #02 pc 0000000000001044  /x.so (f::one()+4) (BuildId: " ID ")\n");
	unchanged("      #00 pc 0000000000001004  /system/lib64/x.so (f+4)\n      #00 pc 1004  /x.so "
		  "(BuildId: " ID ")\n");
}

static void kernel(void **state)
{
	(void)state;
	check("[  1.5] RIP: 0010:alpha+0x14/0x40\n[  1.5]  alpha+0x10/0x40\n[  1.5]  ? alpha+0x4/0x40\n[  "
	      "1.5]  alpha+0x0/0x40\n",
	      "[  1.5] RIP: 0010:alpha (/src/a.c:6)\n"
	      "[  1.5]  beta (/src/b.h:7) [inlined]\n[  1.5]  alpha (/src/a.c:5)\n"
	      "[  1.5]  ? alpha (/src/a.c:5)\n[  1.5]  alpha (/src/a.c:5)\n");
	/* Colours of terminals. */
	check("\x1b[32m[  1.5] \x1b[0m\x1b[33mRIP: "
	      "\x1b[0m0010:alpha+0x8/0x40\n\x1b[33malpha+0x10/0x40\n\x1b[1;31m" ID "+0x4\n",
	      "\x1b[32m[  1.5] \x1b[0m\x1b[33mRIP: \x1b[0m0010:beta (/src/b.h:7) [inlined]\n"
	      "\x1b[32m[  1.5] \x1b[0m\x1b[33mRIP: \x1b[0m0010:alpha (/src/a.c:5)\n"
	      "\x1b[33mbeta (/src/b.h:7) [inlined]\n\x1b[33malpha (/src/a.c:5)\n\x1b[1;31m" ID
	      "+0x4 alpha at /src/a.c:5\n");
	check(" alpha+0x4/0x40 [mod " ID "]\n", " alpha (/src/a.c:5) [mod " ID "]\n");
	unchanged(" alpha+0x4\n alpha+0x4/0x2\n gamma+0x4/0x40\n 1alpha+0x4/0x40\n +0x4/0x40\n");
	unchanged(" alpha+0x4/0x40 [mo\n");
	unchanged(" alpha+0x4/0x40 [mod]\n _ZN1f3oneEv+0x4/0x40\n"); /* no such module; no line */
	unchanged("CPU: 3 PID: 12 Comm: cat Not tainted 6.1.0 #1 ff" ID "\n alpha+0x4/0x40\n");
	check("CPU: 3 PID: 12 Comm: cat Not tainted 6.1.0 #1 " ID "\n alpha+0x4/0x40\n",
	      "CPU: 3 PID: 12 Comm: cat Not tainted 6.1.0 #1 " ID "\n alpha (/src/a.c:5)\n");
}

/* A frame is explained inside the function it names, and only if the size is that of the function. */
static void kernel_sizes(void **state)
{
	(void)state;
	check(" twin+0x4/0x20\n twin+0x4/0x30\n", " twin (/src/a.c:20)\n twin (/src/a.c:30)\n");
	unchanged(" alpha+0x4/0x3f\n alpha+0x4/0x41\n alpha+0x4/0x100000\n twin+0x4/0x10\n");
	/* Padding counts, up to the next symbol, but is no function's code. */
	check(" both+0x4/0x38\n both+0x4/0x40\n both+0x20/0x40\n twin+0x4/0x38\n",
	      " both (/src/a.c:51)\n both (/src/a.c:51)\n both (/src/a.c:51)\n twin (/src/a.c:30)\n");
	unchanged(" both+0x4/0x41\n both+0x21/0x40\n both+0x40/0x40\nRIP: 0010:both+0x20/0x40\n");
	/* So do weak definitions that are overridden: the kernel has no symbol for them. */
	check(" live+0x4/0x20\n live+0x4/0x30\n live+0x4/0x40\n",
	      " live (/src/a.c:80)\n live (/src/a.c:80)\n live (/src/a.c:80)\n");
	unchanged(" live+0x4/0x28\n live+0x4/0x50\n live+0x24/0x40\n after+0x4/0x18\n");
	/* The last function of a module's section reaches to the end of a page. */
	check(" after+0x4/0xe00 [mod " ID "]\n after+0x4/0xfc0 [mod " ID "]\n after+0x10/0x1000 [mod " ID
	      "]\n",
	      " after (/src/a.c:82) [mod " ID "]\n after (/src/a.c:82) [mod " ID
	      "]\n after (/src/a.c:82) [mod " ID "]\n");
	unchanged(" after+0x4/0xe00\n after+0x4/0xdff [mod " ID "]\n after+0x11/0x1000 [mod " ID "]\n");
	unchanged(" after+0x4/0x2000 [mod " ID "]\n");
	check(" final+0x4/0x100f [mod " ID "]\n", " final (/src/a.c:84) [mod " ID "]\n");
	unchanged(" final+0x4/0x1010 [mod " ID "]\n final+0x4/0x50\n");
	/* A function of assembly may end at a label, for the kernel. */
	check(" entry+0x4/0x8\n entry+0x4/0x10\n entry+0x4/0x11\n",
	      " entry (/src/e.S:85)\n entry (/src/e.S:85)\n entry+0x4/0x11\n");
}

/*
 * Two functions of another size reject a module without an id, also for what precedes them in their stack,
 * until another kernel is booted; one does not, however often.
 */
static void rejected(void **state)
{
	(void)state;
#define GOOD           " alpha+0x4/0x40\n"
#define GOOD_EXPLAINED " alpha (/src/a.c:5)\n"
#define BAD            " both+0x4/0x50\n after+0x4/0x18\n"
	check(GOOD "\n" GOOD BAD GOOD "\n" GOOD, GOOD_EXPLAINED "\n" GOOD BAD GOOD "\n" GOOD);
	check(" both+0x4/0x50\n\n" GOOD " both+0x4/0x51\n" GOOD,
	      " both+0x4/0x50\n\n" GOOD_EXPLAINED " both+0x4/0x51\n" GOOD_EXPLAINED);
	check(BAD "[0] Linux version 6.1\n" GOOD, BAD "[0] Linux version 6.1\n" GOOD_EXPLAINED);
	check(BAD " both+0x4/0x50 [mod " ID "]\n after+0x4/0x18 [mod " ID "]\n alpha+0x4/0x40 [mod " ID "]\n",
	      BAD " both+0x4/0x50 [mod " ID "]\n after+0x4/0x18 [mod " ID "]\n alpha (/src/a.c:5) [mod " ID
		  "]\n");
}

/* What was not explained is listed once for each module, however the input is cut. */
static void unexplained(void **state)
{
	(void)state;
	const struct filter_unexplained *list;
	struct running r;
	begin(&r);
	assert_int_equal(feed(&r, " alpha+0x4/0x40\n gamma+0x4/0x40\n both+0x21/0x40\n", FILTER_PAUSE), 0);
	assert_int_equal(filter_unexplained(r.filter, &list), 0);
	assert_int_equal(feed(&r, " alpha+0x4/0x80\n both+0x4/0x50\n", FILTER_PAUSE), 0);
	assert_int_equal(feed(&r, " alpha+0x4/0x90 [mod " ID "]\n alpha+0x4/0x90\n", FILTER_PAUSE), 0);
	assert_int_equal(filter_unexplained(r.filter, &list), 3);
	assert_int_equal(list[0].cause, FILTER_OTHER_BUILD);
	assert_string_equal(list[0].module.name, "vmlinux");
	assert_int_equal(list[0].n_frames, 3);
	assert_string_equal(list[0].symbol, "alpha");
	assert_int_equal(list[0].logged_size, 0x80);
	assert_int_equal(list[0].image_size, 0x40);
	assert_int_equal(list[1].cause, FILTER_REJECTED);
	assert_string_equal(list[1].module.name, "vmlinux");
	assert_string_equal(list[1].symbol, "both");
	assert_int_equal(list[1].n_frames, 1);
	assert_string_equal(list[2].module.name, "mod");
	assert_int_equal(list[2].n_frames, 1);
	end(&r);
}

#define REGISTERS(mark) mark "Code: 48 89 0f\n" mark "RSP: 0018:ffffc90000013e58 EFLAGS: 00010246\n\n"
#define TRACE(mark) \
	mark "Call Trace:\n" mark " <IRQ>\n" mark " ? alpha+0x4/0x40\n" mark " </IRQ>\n" mark " <TASK>\n"

/* Where the processor was belongs to the trace below: its caller says which of two functions it was, the
 * kernel just names one. */
static void kernel_heads(void **state)
{
	(void)state;
#define KNOWN(mark)  mark " ? alpha (/src/a.c:5)\n"
#define TRACED(mark) mark "Call Trace:\n" mark " <IRQ>\n" KNOWN(mark) mark " </IRQ>\n" mark " <TASK>\n"
#define X            "[  1.5] "
	check(X "RIP: 0010:one+0x8/0x40\n" REGISTERS(X) TRACE(X) X " caller+0x10/0x40\n",
	      X "RIP: 0010:two (/src/a.c:61)\n" REGISTERS(X) TRACED(X) X " caller (/src/a.c:70)\n");
	/* The kernel's id comes between the two. */
#define COMM X "CPU: 1 PID: 1 Comm: a Not tainted 6.1 #1 PREEMPT " ID " \n"
	check(X "WARNING: CPU: 1 PID: 1 at a.c:3 one+0x8/0x40\n" X "Modules linked in: a b\n" COMM X
		"RIP: 0010:one+0x8/0x40\n" TRACE(X) X " caller+0x10/0x40\n",
	      X "WARNING: CPU: 1 PID: 1 at a.c:3 two (/src/a.c:61)\n" X "Modules linked in: a b\n" COMM X
		"RIP: 0010:two (/src/a.c:61)\n" TRACED(X) X " caller (/src/a.c:70)\n");
	/* arm64 repeats it. What is in lr belongs to nothing. */
	check("pc : one+0x8/0x40\nlr : alpha+0x8/0x40\nsp : ffff\nCall trace:\n one+0x8/0x40 (P)\n "
	      "caller+0x10/0x40\n",
	      "pc : two (/src/a.c:61)\nlr : alpha (/src/a.c:5)\nsp : ffff\nCall trace:\n two (/src/a.c:61) "
	      "(P)\n caller (/src/a.c:70)\n");
	check("EIP: one+0x8/0x40\nEAX: 1\nCall Trace:\n caller+0x10/0x40\n",
	      "EIP: two (/src/a.c:61)\nEAX: 1\nCall Trace:\n caller (/src/a.c:70)\n");
	check("NIP [c000000000012345] one+0x8/0x40\nLR [c000000000012345] one+0x8/0x40\nCall Trace:\n"
	      "[c000000000012345] [c000000000012345] alpha+0x4/0x40 (unreliable)\n[c000000000012345] "
	      "[c000000000012345] caller+0x10/0x40\n",
	      "NIP [c000000000012345] two (/src/a.c:61)\nLR [c000000000012345] one (/src/a.c:60)\nCall "
	      "Trace:\n"
	      "[c000000000012345] [c000000000012345] alpha (/src/a.c:5) (unreliable)\n"
	      "[c000000000012345] [c000000000012345] caller (/src/a.c:70)\n");
	/* One that was interrupted has called nobody: the interrupt's function is not expected to be its
	 * callee. */
	check(" one+0x8/0x40\n </IRQ>\nRIP: 0010:caller+0x10/0x40\nCode: 1\n alpha+0x4/0x40\n",
	      " one (/src/a.c:60)\n </IRQ>\nRIP: 0010:caller (/src/a.c:70)\nCode: 1\n alpha (/src/a.c:5)\n");
	/* The end of a report, a long way, a mention, or another head are no way to a caller. */
	check("RIP: 0010:one+0x8/0x40\n---[ end trace 0123 ]---\n caller+0x10/0x40\n",
	      "RIP: 0010:one (/src/a.c:60)\n---[ end trace 0123 ]---\n caller (/src/a.c:70)\n");
	check("BUG: KASAN: null-ptr-deref in one+0x8/0x40\n caller+0x10/0x40\n",
	      "BUG: KASAN: null-ptr-deref in one (/src/a.c:60)\n caller (/src/a.c:70)\n");
	check("RIP: 0010:one+0x8/0x40\nRIP: 0010:one+0x9/0x40\n caller+0x10/0x40\n",
	      "RIP: 0010:one (/src/a.c:60)\nRIP: 0010:two (/src/a.c:61)\n caller (/src/a.c:70)\n");
}

/* Processors that report at the same time. */
static void kernel_mixed(void **state)
{
	(void)state;
#define A "[  1.5][   T12] "
#define B "[  1.5][    C1] "
	check(A "RIP: 0010:one+0x8/0x40\n" B " one+0x9/0x40\n" A "Code: 48\n" B " alpha+0x4/0x40\n" B
		"done\nanother\n" A "Call Trace:\n" B " one+0x9/0x40\n" A " caller+0x10/0x40\n" B
		" caller+0x10/0x40\n" A "end\n" B "end\n",
	      A "RIP: 0010:two (/src/a.c:61)\n" B " one (/src/a.c:60)\n" A "Code: 48\n" B
		" alpha (/src/a.c:5)\n" B "done\nanother\n" A "Call Trace:\n" B " two (/src/a.c:61)\n" A
		" caller (/src/a.c:70)\n" B " caller (/src/a.c:70)\n" A "end\n" B "end\n");
	/* Without marks they are one trace, and one() was called by alpha(). */
	check(" one+0x8/0x40\n alpha+0x4/0x40\n caller+0x10/0x40\n",
	      " one (/src/a.c:60)\n alpha (/src/a.c:5)\n caller (/src/a.c:70)\n");
	struct running r;
	begin(&r);
	assert_int_equal(feed(&r, A " one+0x8/0x40\n", FILTER_MORE), 0);
	for (int i = 0; i < 200; i++)
		assert_int_equal(feed(&r, B "something else\n", FILTER_MORE), 0);
	assert_true(r.out.n > 0); /* of 200 lines, not all wait for the other processor */
	end(&r);
}

static void markup(void **state)
{
	(void)state;
	static const char modules[] =
		"{{{module:0:x.so:elf:" ID "}}}\n{{{mmap:0x500000:0x1000:load:0:rx:0x1000}}}\n";
	char in[2000], expected[2000];
	snprintf(in, sizeof(in),
		 "%s[1] {{{bt:0:0x500010:pc}}}\n[1] {{{bt:1:0x500010}}}\n{{{bt:2:0x500044:pc}}}, "
		 "{{{pc:0x500004}}}.\n%s",
		 modules,
		 "{{{symbol:_ZN1f3oneEv}}} {{{bt:0:0x600000}}} {{{pc:0x500004:ra}}\n{{{bt:0:0x500041}}}\n");
	snprintf(expected, sizeof(expected), "%s%s", modules,
		 "[1]     #0    0x0000000000500010 alpha /src/a.c:6 (x.so+0x1010)\n"
		 "[1]     #1.1  0x000000000050000f beta /src/b.h:7 (x.so+0x100f)\n"
		 "[1]     #1    0x000000000050000f alpha /src/a.c:5 (x.so+0x100f)\n"
		 "    #2    0x0000000000500044 f::one() (x.so+0x1044), alpha[/src/a.c:5].\n"
		 "f::one() {{{bt:0:0x600000}}} {{{pc:0x500004:ra}}\n    #0    0x0000000000500040 f::one() "
		 "(x.so+0x1040)\n");
	check(in, expected);
	snprintf(in, sizeof(in), "%s{{{reset}}}\n{{{pc:0x500004}}}\n", modules);
	unchanged(in);
	unchanged("{{{module:0:x.so:elf:" ID
		  "}}} {{{pc:0x4}}} {{{}}} {{{bt}}} {{{symbol:}}} {{{mmap:1:2}}}\n");
}

static const char report[] =
	"Incident Identifier: X\n\nThread 0 Crashed:\n"
	"0   My App                        0x0000000104a78010 0x104a78000 + 16\n"
	"1   My App                        0x0000000104a78010 0x104a78000 + 16\n"
	"2   My App                      \t0x0000000104a78044 one + 4\n"
	"3   libother.dylib                0x00000001b0000010 0x1b0000000 + 16\n\nThread 1:\n"
	"0   My App                        0x0000000104a78004 0x104a78000 + 4\n\nBinary Images:\n"
	"0x104a78000 - 0x104a7ffff My App arm64  <" ID "> /Applications/My App\n"
	"       0x1b0000000 -        0x1b0000fff +libother.dylib (1.0) "
	"<01020304-0506-0708-090A-0B0C0D0E0FFF> "
	"/usr/lib/libother.dylib\n\nthe end\n";

static void apple(void **state)
{
	(void)state;
	check(report,
	      "Incident Identifier: X\n\nThread 0 Crashed:\n"
	      "0   My App                        0x0000000104a78010 alpha (in My App) (a.c:6)\n"
	      "1   My App                        0x0000000104a78010 beta (in My App) (b.h:7) [inlined]\n"
	      "1   My App                        0x0000000104a78010 alpha (in My App) (a.c:5)\n"
	      "2   My App                      \t0x0000000104a78044 f::one() (in My App) + 4\n"
	      "3   libother.dylib                0x00000001b0000010 0x1b0000000 + 16\n\nThread 1:\n"
	      "0   My App                        0x0000000104a78004 alpha (in My App) (a.c:5)\n\nBinary "
	      "Images:\n"
	      "0x104a78000 - 0x104a7ffff My App arm64  <" ID "> /Applications/My App\n"
	      "       0x1b0000000 -        0x1b0000fff +libother.dylib (1.0) "
	      "<01020304-0506-0708-090A-0B0C0D0E0FFF> "
	      "/usr/lib/libother.dylib\n\nthe end\n");
	check("  Thread 0:\n  0   A   0x0000000104a78004 0x104a78000 + 4\n\n  Binary Images:\n  0x104a78000 "
	      "- 0x104a7ffff A <" ID "> /x\n\n",
	      "  Thread 0:\n  0   A   0x0000000104a78004 alpha (in A) (a.c:5)\n\n  Binary Images:\n  "
	      "0x104a78000 - 0x104a7ffff A <" ID "> /x\n\n");
	/* cut off before its images, and one whose frames nothing announces */
	unchanged("Thread 0 Crashed:\n0   My App   0x0000000104a78010 0x104a78000 + 16\n");
	unchanged("0   My App   0x0000000104a78010 0x104a78000 + 16\nBinary Images:\n0x104a78000 - "
		  "0x104a7ffff My App <" ID "> /x\n");
}

#define APPLE_IMAGE_A "0x104a78000 - 0x104a7ffff A arm64 <" ID "> /A\n"
#define APPLE_A(n)    #n "   A   0x0000000104a78004 0x104a78000 + 4\n"
#define APPLE_A_IS(n) #n "   A   0x0000000104a78004 alpha (in A) (a.c:5)\n"

/* A frame that is in no image is written in many ways; those after it are explained all the same. */
static void apple_first_frames(void **state)
{
	(void)state;
	static const char *const first[] = {
		"0   ???                           0x7ff8a42b0fcc ???\n",
		"0   ???                           \t000000000000000000 0 + 0\n",
		"0   ???                           0x0000000000000000 0x0 + 0\n",
		"0   <translation info unavailable> 0x0000000102ad0718 ???\n",
		"0   <unknown binary>              \t0xfffffffe 0 + 4294967294\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		char in[1000], expected[1000];
		static const char images[] = "\nBinary Images:\n" APPLE_IMAGE_A "\n";
		snprintf(in, sizeof(in), "Thread 0 Crashed:\n%s" APPLE_A(1) "%s", first[i], images);
		snprintf(expected, sizeof(expected), "Thread 0 Crashed:\n%s" APPLE_A_IS(1) "%s", first[i],
			 images);
		check(in, expected);
	}
}

/* Where the images are. */
static void apple_images(void **state)
{
	(void)state;
	check("Thread 0:\n" APPLE_A(0) "Binary Images\n" APPLE_IMAGE_A "\n",
	      "Thread 0:\n" APPLE_A_IS(0) "Binary Images\n" APPLE_IMAGE_A "\n");
	check("Binary Images:\n" APPLE_IMAGE_A "\nThread 0:\n" APPLE_A(0) "\nThread 1:\n" APPLE_A(0),
	      "Binary Images:\n" APPLE_IMAGE_A "\nThread 0:\n" APPLE_A_IS(0) "\nThread 1:\n" APPLE_A_IS(0));
	/* A module can be called like the line that announces frames. */
	check("Thread 0:\n" APPLE_A(0) "Binary Images:\n0x1000 - 0x1fff libBacktraceRecording.dylib <ff> "
				       "/x\n" APPLE_IMAGE_A "\n",
	      "Thread 0:\n" APPLE_A_IS(0) "Binary Images:\n0x1000 - 0x1fff libBacktraceRecording.dylib <ff> "
					  "/x\n" APPLE_IMAGE_A "\n");
	/* Each report has its own: not those of the next, nor of the one before. */
	check("Thread 0:\n" APPLE_A(0) "Process: B [1]\nThread 0:\n" APPLE_A(
		      0) "Binary Images:\n" APPLE_IMAGE_A "\n",
	      "Thread 0:\n" APPLE_A(0) "Process: B [1]\nThread 0:\n" APPLE_A_IS(
		      0) "Binary Images:\n" APPLE_IMAGE_A "\n");
	unchanged("Binary Images:\n" APPLE_IMAGE_A "Process: B [1]\nThread 0:\n" APPLE_A(0));
	unchanged("Binary Images:\n" APPLE_IMAGE_A
		  "\nThread 0:\n" APPLE_A(0) "Binary Images:\n0x1000 - 0x1fff "
					     "B <ff> /B\n\n");
}

static void apple_quoted(void **state)
{
	(void)state;
	check("> Thread 0 Crashed:\n> 0   A   0x0000000104a7800c 0x104a78000 + 12\n>\n> Binary "
	      "Images:\n> " APPLE_IMAGE_A ">\nThanks\n",
	      "> Thread 0 Crashed:\n> 0   A   0x0000000104a7800c beta (in A) (b.h:7) [inlined]\n> 0   A   "
	      "0x0000000104a7800c alpha (in A) (a.c:5)\n>\n> Binary Images:\n> " APPLE_IMAGE_A ">\nThanks\n");
}

/* The frames of an exception are a list of addresses. */
static void apple_addresses(void **state)
{
	(void)state;
#define FRAMES(quote)                                                                                       \
	quote "0   ???                            0x00000001b0000010 0x0 + 7247757328\n" quote              \
	      "1   A                              0x0000000104a7800c beta (in A) (b.h:7) [inlined]\n" quote \
	      "1   A                              0x0000000104a7800c alpha (in A) (a.c:5)\n" quote          \
	      "2   A                              0x0000000104a78044 f::one() (in A) + 4\n"
#define LIST "(0x1b0000010 0x104a7800c 0x104a78044)"
	check("Last Exception Backtrace:\n" LIST
	      "\n\nThread 0:\n" APPLE_A(0) "\nBinary Images:\n" APPLE_IMAGE_A "\n",
	      "Last Exception Backtrace:\n" FRAMES("") "\nThread 0:\n" APPLE_A_IS(
		      0) "\nBinary Images:\n" APPLE_IMAGE_A "\n");
	check("> Last Exception Backtrace: " LIST "\n> Binary Images:\n> " APPLE_IMAGE_A "\n",
	      "> Last Exception Backtrace:\n" FRAMES("> ") "> Binary Images:\n> " APPLE_IMAGE_A "\n");
	/* Once a report; a list of something else, and one whose images are not there, stay. */
	unchanged(
		"Last Exception Backtrace:\n(0x1010 0x1020)\nBinary Images:\n0x1000 - 0x1fff B <ff> /B\n\n");
	check("Binary Images:\n" APPLE_IMAGE_A "\nLast Exception Backtrace:\n" LIST "\n" LIST "\n",
	      "Binary Images:\n" APPLE_IMAGE_A "\nLast Exception Backtrace:\n" FRAMES("") LIST "\n");
	unchanged("Binary Images:\n" APPLE_IMAGE_A "\n" LIST "\nsee " LIST "\n");
	unchanged("Last Exception Backtrace:\n(0x1b0000010 0x1b0000020)\nBinary Images:\n" APPLE_IMAGE_A
		  "\n");
	unchanged("Last Exception Backtrace:\n(0x104a78004 x)\nBinary Images:\n" APPLE_IMAGE_A "\n");
}

/* Of several rows at an address atos shows the first, and its readers expect that, all others the last. */
static void first_row(void **state)
{
	(void)state;
#define HEAD "Thread 0:\n0   A                             0x0000000100000100 "
#define TAIL "\n\nBinary Images:\n0x100000000 - 0x100000fff A <" ID "> /A\n\n"
	check(HEAD "0x100000000 + 256" TAIL, HEAD "both (in A) (a.c:50)" TAIL);
	check(ID "+0x100\n", ID "+0x100 both at /src/a.c:51\n");
}

#define IPS_HEADER "{\"app_name\":\"x\",\"bug_type\":\"309\",\"incident_id\":\"1\"}\n"
#define IPS_IMAGES                                                                                  \
	"\"usedImages\" : [\n  "                                                                    \
	"{\"base\":4372103168,\"uuid\":\"01020304-0506-0708-090A-0B0C0D0E0F10\",\"name\":\"x\"},\n" \
	"  {\"base\":1,\"uuid\":\"ff\"}]"

static const char ips[] = IPS_HEADER
	"{\n  \"note\" : \"a \\\"brace\\\" { [\", \"n\":-1.5e3, \"t\":null,\n"
	"  \"threads\" : [{\"triggered\":true,\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}, "
	"{\"imageOffset\":16,"
	"\"imageIndex\":0 },\n {\"imageOffset\":68,\"imageIndex\":0},{\"imageOffset\":4,\"imageIndex\":1}]},"
	"{\"frames\":[{\"imageOffset\":4,\"symbol\":\"f\",\"imageIndex\":0}]}],\n  " IPS_IMAGES
	"\n}\nafter " ID "+0x4\n";

static void ips_reports(void **state)
{
	(void)state;
	check(ips, IPS_HEADER
	      "{\n  \"note\" : \"a \\\"brace\\\" { [\", \"n\":-1.5e3, \"t\":null,\n"
	      "  \"threads\" : "
	      "[{\"triggered\":true,\"frames\":[{\"imageOffset\":16,\"imageIndex\":0,\"symbol\":\"alpha\","
	      "\"symbolLocation\":16,"
	      "\"sourceFile\":\"a.c\",\"sourceLine\":6}, {\"imageOffset\":16,\"imageIndex\":0 "
	      ",\"symbol\":\"beta\",\"symbolLocation\":8,"
	      "\"sourceFile\":\"b.h\",\"sourceLine\":7,\"inline\":true},{\"imageOffset\":16,\"imageIndex\":0 "
	      ",\"symbol\":\"alpha\","
	      "\"symbolLocation\":16,\"sourceFile\":\"a.c\",\"sourceLine\":5},\n "
	      "{\"imageOffset\":68,\"imageIndex\":0,\"symbol\":\"f::one()\","
	      "\"symbolLocation\":4},{\"imageOffset\":4,\"imageIndex\":1}]},"
	      "{\"frames\":[{\"imageOffset\":4,\"symbol\":\"f\",\"imageIndex\":0}]}],\n  " IPS_IMAGES
	      "\n}\nafter " ID "+0x4 alpha at /src/a.c:5\n");
	unchanged("{\"imageOffset\":16,\"imageIndex\":0}\n{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}]"
		  "," IPS_IMAGES "}\n");
	check(IPS_HEADER "{\"f\":[{\"imageOffset\":256,\"imageIndex\":0}]," IPS_IMAGES "}",
	      IPS_HEADER "{\"f\":[{\"imageOffset\":256,\"imageIndex\":0,\"symbol\":\"both\","
			 "\"symbolLocation\":0,\"sourceFile\":\"a.c\","
			 "\"sourceLine\":50}]," IPS_IMAGES "}");
	/* broken, cut off, nested too deeply, nested in each other */
	unchanged(IPS_HEADER "{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0},]," IPS_IMAGES "}\n");
	unchanged(IPS_HEADER "{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}]," IPS_IMAGES);
	unchanged(IPS_HEADER
		  "{\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]"
		  "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
		  "]]]]]]]]]]]]]]]]]]]],\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}]," IPS_IMAGES
		  "}\n");
	unchanged(IPS_HEADER "[{\"imageOffset\":16,\"imageIndex\":0}]\n");
	check(IPS_HEADER "{\"f\":[{\"imageOffset\":4,\"g\":[{\"imageOffset\":68,\"imageIndex\":0}],"
			 "\"imageIndex\":0}]," IPS_IMAGES "}",
	      IPS_HEADER "{\"f\":[{\"imageOffset\":4,\"g\":[{\"imageOffset\":68,\"imageIndex\":0,\"symbol\":"
			 "\"f::one()\",\"symbolLocation\":4}],"
			 "\"imageIndex\":0}]," IPS_IMAGES "}");
}

/* A report that never ends is let go, and what follows is looked at again. */
static void endless_report(void **state)
{
	(void)state;
	static const char head[] = "Thread 0:\n0   A   0x0000000104a78010 0x104a78000 + 16\n",
			  tail[] = "\n" ID "+0x4\n";
	size_t size = FILTER_REPORT_MAX + 1000;
	char *in = malloc(size);
	struct source source;
	struct text_buf out = {0};
	make(&source);
	for (size_t i = 0; i < size; i++)
		in[i] = i % 64 ? 'x' : '\n';
	memcpy(in, head, strlen(head));
	memcpy(in + size - strlen(tail), tail, strlen(tail));
	run(&source, in, size, NULL, 0, &out);
	assert_memory_equal(out.v, in, size - 1);
	assert_true(out.n > size);
	text_deinit(&out);
	free(in);
	drop(&source);
}

/* One of everything. */
static char *everything(void)
{
	char *text = NULL;
	int n = asprintf(
		&text,
		"noise\n\n%s%s> Binary Images\n> " APPLE_IMAGE_A "> Last Exception Backtrace: (0x104a7800c "
		"0x104a78044)\n> Thread 0:\n> 0   ???   0x7ff8a42b0fcc ???\n> " APPLE_A(
			1) "Process: x [1]\n"
			   "    #0 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: " ID ")\n"
			   "    #1 0x55c8ec9c41cc  (/bin/x+0x9) (BuildId: " ID ")\n"
			   "#1  0x00007f0000000010 n/a (libx.so.1 + 0x10)\r\n"
			   "Module libx.so.1 with build-id " ID
			   "\n#0  0x00007f0000000010 n/a (libx.so.1 + 0x10)\n"
			   "  #00 pc 0000000000001004  /system/lib64/x.so (f+4) (BuildId: " ID ")\n"
			   "[  1.5]  alpha+0x10/0x40\n[  1.5]  ? alpha+0x4/0x40\n"
			   "[  1.5][  T1] RIP: 0010:one+0x8/0x40\n[  1.5][  C1]  one+0x8/0x40\n[  1.5][  T1] "
			   "Code: 1\n"
			   "[  1.5][  T1]  caller+0x10/0x40\n[  1.5][  C1]  alpha+0x10/0x40\n"
			   "{{{module:0:x.so:elf:" ID "}}}\n{{{mmap:0x500000:0x1000:load:0:rx:0x1000}}}\n"
			   "[1] {{{bt:0:0x500010}}}\n[1] {{{bt:1:0x500010}}}\n{{{pc:0x500004}}} "
			   "{{{symbol:_ZN1f3oneEv}}}\n"
			   "at " ID "+0x4, \x80\xff" ID "+0x5 %c\nlast " ID " 0x1009",
		report, ips, 0);
	assert_true(n > 0);
	return text;
}

/* As everything() has a NUL in it. */
static const size_t everything_after_nul = sizeof("\nlast " ID " 0x1009") - 1;

static void cut_anywhere(void **state)
{
	(void)state;
	char *in = everything();
	size_t size = strlen(in) + 1 + everything_after_nul;
	struct source source;
	struct text_buf whole = {0}, parts = {0};
	unsigned seed = 5;
	make(&source);
	run(&source, in, size, NULL, 0, &whole);
	assert_true(whole.n > size);
	for (size_t i = 0; i <= size; i++) {
		run(&source, in, size, &i, 1, &parts);
		assert_int_equal(parts.n, whole.n);
		assert_memory_equal(parts.v, whole.v, whole.n);
	}
	for (int round = 0; round < 200; round++) {
		size_t cuts[40], n = 0, at = 0;
		while (n < 40 && (at += (size_t)rand_r(&seed) % 150) < size)
			cuts[n++] = at;
		source.late = (unsigned)rand_r(&seed) % 30;
		run(&source, in, size, cuts, n, &parts);
		assert_int_equal(parts.n, whole.n);
		assert_memory_equal(parts.v, whole.v, whole.n);
	}
	for (size_t i = 0; i <= size; i++)
		run(&source, in, i, NULL, 0, &parts); /* cut off: the sanitizers watch */
	text_deinit(&whole);
	text_deinit(&parts);
	free(in);
	drop(&source);
}

/* Random bytes, and random pieces of logs without ids that anybody knows, come out as they went in. */
static void everything_else_is_copied(void **state)
{
	(void)state;
	static const char *const pieces[] = {"#1 0x1234567 ",
					     "(/a+0x1)",
					     " + 0x1)",
					     "{{{",
					     "}}}",
					     "pc:0x1",
					     "bt:1:0x1",
					     ":",
					     "\n",
					     "\r\n",
					     "Thread 0:\n",
					     "0   A   0x00000001 0x1 + 1\n",
					     "Binary Images:\n",
					     "0x1 - 0x2 A <0123456789abcdef> /A\n",
					     "f+0x1/0x2",
					     " [",
					     "]",
					     "#01 pc 00000001  /a",
					     " (BuildId: ",
					     ")",
					     "0123456789abcdef",
					     "+0x",
					     " 0x1",
					     "-",
					     "Module a with build-id 01\n",
					     "CPU: 1 PID: 1 Comm: a 0123456789abcdef0123456789abcdef\n",
					     "SUMMARY: ",
					     "\xff",
					     " in ",
					     "reset",
					     "module:0:a:elf:01",
					     "mmap:0x0:0x9:load:0:r:0x1",
					     IPS_HEADER,
					     "{\"frames\":[{\"imageOffset\":1,\"imageIndex\":0},",
					     "{\"imageOffset\":1,\"imageIndex\":0}]}\n",
					     "]",
					     "}",
					     "\"",
					     "\\",
					     "RIP: 0010:",
					     "pc : ",
					     "[ T1] ",
					     "[ C2] ",
					     " <TASK>\n",
					     "? ",
					     "\"usedImages\":[{\"uuid\":\"ff\"}]"};
	struct source source;
	struct text_buf out = {0};
	unsigned seed = 9;
	static char in[20000];
	make(&source);
	for (int round = 0; round < 3000; round++) {
		size_t size = 0, limit = (size_t)rand_r(&seed) % sizeof(in) / (round % 50 ? 20 : 1), cut;
		while (size + 64 < limit) {
			const char *piece = pieces[(size_t)rand_r(&seed) % ARRAY_SIZE(pieces)];
			if (round % 3 == 0)
				in[size++] = (char)rand_r(&seed);
			else
				size += (size_t)sprintf(in + size, "%s", piece);
		}
		cut = size ? (size_t)rand_r(&seed) % size : 0;
		run(&source, in, size, &cut, 1, &out);
		assert_int_equal(out.n, size);
		assert_memory_equal(out.v, in, size);
	}
	text_deinit(&out);
	drop(&source);
}

static void long_lines(void **state)
{
	(void)state;
	static char in[3 * FILTER_LINE_MAX];
	struct source source;
	struct text_buf out = {0};
	make(&source);
	for (size_t size = FILTER_LINE_MAX - 2; size <= FILTER_LINE_MAX + 2; size++) {
		size_t n = strlen(ID "+0x4 ");
		memset(in, 'x', sizeof(in));
		memcpy(in, ID "+0x4 ", n);
		in[size - 1] = '\n';
		memcpy(in + size, ID "+0x4\n", n);
		run(&source, in, size + n, NULL, 0, &out);
		size_t one = strlen(" alpha at /src/a.c:5");
		assert_int_equal(out.n, size + n + (size > FILTER_LINE_MAX ? one : 2 * one));
	}
	text_deinit(&out);
	drop(&source);
}

/* A pause ends a stack and nothing else. */
static void pauses(void **state)
{
	(void)state;
	struct running r;
	begin(&r);
	assert_int_equal(feed(&r, "[1]  alpha+0x4/0x40\n[1]  alp", FILTER_MORE), 0);
	assert_int_equal(r.out.n, 0);
	assert_int_equal(feed(&r, "", FILTER_PAUSE), 0);
	assert_int_equal(r.out.n, strlen("[1]  alpha (/src/a.c:5)\n"));
	assert_int_equal(feed(&r, "ha+0x4/0x40\n", FILTER_PAUSE), 0);
	assert_int_equal(r.out.n, 2 * strlen("[1]  alpha (/src/a.c:5)\n"));
	end(&r);
}

/* All images of a stack are asked for before the first is there, each once. */
static void late_images(void **state)
{
	(void)state;
	struct running r;
	begin(&r);
	static const char in[] = "    #0 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: " ID ")\n"
				 "    #1 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: " ID ")\n"
				 "    #2 0x55c8ec9c41aa  (/bin/y+0x4) (BuildId: " ID ")\nend\n";
	r.source.late = 2;
	assert_int_equal(feed(&r, in, FILTER_MORE), -EAGAIN);
	assert_int_equal(r.used, strlen(in));
	assert_int_equal(r.source.asked, 2);
	assert_int_equal(r.out.n, 0);
	r.source.late = 1;
	assert_int_equal(feed(&r, "", FILTER_MORE), -EAGAIN);
	assert_int_equal(r.out.n, 0);
	assert_int_equal(feed(&r, "", FILTER_MORE), 0);
	assert_memory_equal(r.out.v + r.out.n - 4, "end\n", 4);
	end(&r);
}

/* Whatever is declared, and however long stacks are, there is an end to what is remembered. */
static void memory_is_bounded(void **state)
{
	(void)state;
	struct running r;
	char line[400];
	begin(&r);
	for (unsigned i = 0; i < 80000; i++) {
		int n = 0;
		if (i < 40000)
			n = snprintf(
				line, sizeof(line),
				"{{{module:%u:x%u:elf:" ID
				"}}} {{{mmap:0x%x000:0x1:load:%u:r:0x0}}} Module m%u with build-id %032x\n",
				i, i, i, i, i, i);
		snprintf(line + n, sizeof(line) - (size_t)n,
			 "#%u 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: " ID ")\n", i % 40000);
		assert_int_equal(feed(&r, line, FILTER_MORE), 0);
		text_reset(&r.out);
	}
	assert_true(filter_memory(r.filter) < 8 << 20);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(sanitizers),
		cmocka_unit_test(coredumps),
		cmocka_unit_test(android),
		cmocka_unit_test(kernel),
		cmocka_unit_test(kernel_heads),
		cmocka_unit_test(kernel_sizes),
		cmocka_unit_test(rejected),
		cmocka_unit_test(unexplained),
		cmocka_unit_test(kernel_mixed),
		cmocka_unit_test(markup),
		cmocka_unit_test(apple),
		cmocka_unit_test(first_row),
		cmocka_unit_test(apple_first_frames),
		cmocka_unit_test(apple_images),
		cmocka_unit_test(apple_quoted),
		cmocka_unit_test(apple_addresses),
		cmocka_unit_test(ips_reports),
		cmocka_unit_test(endless_report),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(everything_else_is_copied),
		cmocka_unit_test(long_lines),
		cmocka_unit_test(pauses),
		cmocka_unit_test(late_images),
		cmocka_unit_test(memory_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
