/*
 * Logs of every format through the filter: what it recognises and writes, and that nothing else changes,
 * however the input is cut and whenever an image is late.
 */
#include "tests/unit/log/engine/filter_sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

TEST(plain)
{
	check_log("at " ID "+0x4, and\n", "at " ID "+0x4 alpha at /src/a.c:5, and\n");
	check_log("01020304-0506-0708-090A-0B0C0D0E0F10 0x1009\r\n",
		  "01020304-0506-0708-090A-0B0C0D0E0F10 0x1009 beta at /src/b.h:7 (inlined by) alpha at "
		  "/src/a.c:5\r\n");
	check_log("two: " ID "+0x4 " ID "+0x44",
		  "two: " ID "+0x4 alpha at /src/a.c:5 " ID "+0x44 f::one()+0x4");
	check_log("#0 " ID " 0x1010\n#1 " ID " 0x1010\n",
		  "#0 " ID " 0x1010 alpha at /src/a.c:6\n#1 " ID
		  " 0x1010 beta at /src/b.h:7 (inlined by) alpha at /src/a.c:5\n");
	check_log(ID "+0xe4\n", ID "+0xe4 bad\\x0aname\\x1b[1m at /src/a.c:40\n");
	check_unchanged("x" ID "+0x4\n" ID "ff+0x4\n" ID "+0x4g\n" ID "+4\n" ID "0x4\n" ID "+0xfff\n" ID
			" +0x4\n");
	check_unchanged(ID " 0x10000000000001009\n" ID "+0xffffffffffffffff\n");
}

TEST(sanitizers)
{
	check_log("    #0 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: " ID ")\n"
		  "    #1 0x55c8ec9c41cc in ?? (/bin/x+0x9) (BuildId: " ID ")\n"
		  "    #2 0x55c8ec9c41ec  (/bin/x+0x44) (BuildId: " ID ") \n\n",
		  "    #0 0x55c8ec9c41aa in alpha /src/a.c:5\n"
		  "    #1 0x55c8ec9c41cc in beta /src/b.h:7\n"
		  "    #1 0x55c8ec9c41cc in alpha /src/a.c:5\n"
		  "    #2 0x55c8ec9c41ec in f::one() (/bin/x+0x44) (BuildId: " ID ") \n\n");
	check_log("SUMMARY: AddressSanitizer: stack-overflow (/bin/x+0x4) (BuildId: " ID ") \n",
		  "SUMMARY: AddressSanitizer: stack-overflow /src/a.c:5 in alpha \n");
	/* LLVM's own programs print return addresses as they are. */
	check_log(" #0 0x000055c8ec9c41aa f(int) (/bin/x+0x10) (BuildId: " ID
		  ")\n #1 0x000055c8ec9c41aa f(int) (/bin/x+0x10) (BuildId: " ID ")\n",
		  " #0 0x000055c8ec9c41aa in alpha /src/a.c:6\n"
		  " #1 0x000055c8ec9c41aa in beta /src/b.h:7\n"
		  " #1 0x000055c8ec9c41aa in alpha /src/a.c:5\n");
	/* ThreadSanitizer has no addresses. */
	check_log("    #0 <null> <null> (x+0x4) (BuildId: " ID ")\n    #1 <null> <null> (x+0x9) (BuildId: " ID
		  ")\n"
		  "    #2 f <null> (x+0x44) (BuildId: " ID ")\n    #3 f /a.c:3 (x+0x44) (BuildId: " ID ")\n",
		  "    #0 alpha /src/a.c:5 (x+0x4) (BuildId: " ID ")\n"
		  "    #1 beta /src/b.h:7\n    #1 alpha /src/a.c:5 (x+0x9) (BuildId: " ID ")\n"
		  "    #2 f::one() <null> (x+0x44) (BuildId: " ID ")\n    #3 f /a.c:3 (x+0x44) (BuildId: " ID
		  ")\n");
	check_log(
		"    #1 0x55c8ec9c41cc  (/bin/x:arm64+0x9) (BuildId: " ID ")\r\n",
		"    #1 0x55c8ec9c41cc in beta /src/b.h:7\r\n    #1 0x55c8ec9c41cc in alpha /src/a.c:5\r\n");
	check_unchanged("    #0 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: 00" ID
			")\n    #1 0x55c8ec9c41aa in main /a.c:1:2\n#2 0x1 (+0x4)\n"
			"    #0 0x55c8ec9c41aa  (/bin/x+0x)\n");
}

/* Inlined calls stay in the line, and names are escaped; a string has lines of its own. */
TEST(json)
{
	check_log("{\"MESSAGE\":\"    #1 0x55c8ec9c41cc  (/bin/x+0x9) (BuildId: " ID
		  ")\",\"PRIORITY\":\"3\"}\n"
		  "{\"n\":1, \"m\":\"at " ID "+0xe4\"}\n"
		  "  \"MESSAGE\" : \"\\t#01 pc 0000000000001009  /x.so (BuildId: " ID ")\\n\",\r\n"
		  "{\"m\":\"Module x.so with build-id " ID "\\n#0  0x00007f0000000010 n/a (x.so + 0x10)\\n"
		  "#1  0x00007f0000000010 n/a (x.so + 0x10)\"}\n",
		  "{\"MESSAGE\":\"    #1 0x55c8ec9c41cc in beta /src/b.h:7  in alpha "
		  "/src/a.c:5\",\"PRIORITY\":\"3\"}\n"
		  "{\"n\":1, \"m\":\"at " ID "+0xe4 bad\\nname\\u001b[1m at /src/a.c:40\"}\n"
		  "  \"MESSAGE\" : \"\\t#01 pc 0000000000001009  /x.so (beta /src/b.h:7)  (alpha /src/a.c:5) "
		  "(BuildId: " ID ")\\n\",\r\n"
		  "{\"m\":\"Module x.so with build-id " ID
		  "\\n#0  0x00007f0000000010 alpha at /src/a.c:6 (x.so + 0x10)\\n"
		  "#1  0x00007f0000000010 beta at /src/b.h:7 alpha at /src/a.c:5 (x.so + 0x10)\"}\n");
	/* Without BuildId the frame ends where its string does. */
	check_log("{\"m\":\"#00 pc 0000000000001004  /system/app\",\"n\":[\"\\\\n " ID "+0x4\"]}\n",
		  "{\"m\":\"#00 pc 0000000000001004  /system/app (alpha /src/a.c:5)\",\"n\":[\"\\\\n " ID
		  "+0x4 alpha at /src/a.c:5\"]}\n");
	/* None of it is in a string, or it is no object. */
	check_unchanged("{\"m\":1, " ID "+0x4}\n{\"m\":\"" ID "\\n+0x4\"}\n{\"m\\\\");
	check_log("{ " ID "+0x9\n\"a\" " ID "+0x9\n",
		  "{ " ID "+0x9 beta at /src/b.h:7 (inlined by) alpha at /src/a.c:5\n"
		  "\"a\" " ID "+0x9 beta at /src/b.h:7 (inlined by) alpha at /src/a.c:5\n");
}

/* Lines that tell a source position, or the function where the image has no more, get nothing. */
TEST(known)
{
	check_unchanged(" alpha+0x4/0x14 mm/slub.c:12\n\n alpha+0x4/0x14 [x] mm/slub.c:12\n\n"
			"RIP: 0010:alpha+0x4/0x14 mm/slub.c:12\n\n"
			"1> C:\\src\\a.cpp(12): app!alpha+0x4\n\n"
			"C  [app+0x44]  f::one+0x4\n\nC  [app+0x44]  alias+0x4\n\n");
	check_log("C  [app+0x44]\n", "C  [app+0x44] f::one()+0x4\n");
}

TEST(coredumps)
{
	check_log(
		"Module libx.so.1 with build-id " ID "\n"
		"#0  0x00007f0000000010 n/a (libx.so.1 + 0x10)\n#1  0x00007f0000000010 n/a (libx.so.1 + "
		"0x10)\n"
		"#2  0x00007f0000000044 _ZN1f3oneEv (libx.so.1 + 0x44)\n#3  0x00007f0000000044 main (liby.so "
		"+ "
		"0x44)\n",
		"Module libx.so.1 with build-id " ID "\n"
		"#0  0x00007f0000000010 alpha at /src/a.c:6 (libx.so.1 + 0x10)\n"
		"#1  0x00007f0000000010 beta at /src/b.h:7\n#1  0x00007f0000000010 alpha at /src/a.c:5 "
		"(libx.so.1 + 0x10)\n"
		"#2  0x00007f0000000044 f::one() (libx.so.1 + 0x44)\n#3  0x00007f0000000044 main (liby.so + "
		"0x44)\n");
	check_log("Module x.so from deb x-1.2 with build-id " ID
		  "\n#0  0x00007f0000000010 n/a (x.so (deleted) + 0x10)\n",
		  "Module x.so from deb x-1.2 with build-id " ID
		  "\n#0  0x00007f0000000010 alpha at /src/a.c:6 (x.so (deleted) + 0x10)\n");
	check_log("x: Found module /lib/x.so with build-id: " ID
		  "\n#0  0x00007f0000000010 n/a (x.so + 0x10)\n",
		  "x: Found module /lib/x.so with build-id: " ID
		  "\n#0  0x00007f0000000010 alpha at /src/a.c:6 (x.so + 0x10)\n");
	check_unchanged(
		"Module libx.so.1 without build-id.\n#0  0x00007f0000000010 n/a (libx.so.1 + 0x10)\n");
}

TEST(android)
{
	check_log(
		"F DEBUG   :       #00 pc 0000000000001004  /system/lib64/x.so (f+4) (BuildId: " ID ")\n"
		"F DEBUG   :       #01 pc 0000000000001009  /a b.apk!x.so (offset 0x1000) (BuildId: " ID ")\n"
		"F DEBUG   :       #02 pc 0000000000001044  /x.so (BuildId: " ID ")\n",
		"F DEBUG   :       #00 pc 0000000000001004  /system/lib64/x.so (alpha /src/a.c:5) "
		"(BuildId: " ID ")\n"
		"F DEBUG   :       #01 pc 0000000000001009  /a b.apk!x.so (offset 0x1000) (beta /src/b.h:7)\n"
		"F DEBUG   :       #01 pc 0000000000001009  /a b.apk!x.so (offset 0x1000) (alpha /src/a.c:5) "
		"(BuildId: " ID ")\n"
		"F DEBUG   :       #02 pc 0000000000001044  /x.so (f::one()+4) (BuildId: " ID ")\n");
	check_log("  native: pc 0000000000001009  /x.so (BuildId: " ID
		  ")\n  native: #00 pc 0x0000000000001004  "
		  "/x.so (BuildId: " ID ")\n",
		  "  native: pc 0000000000001009  /x.so (beta /src/b.h:7)\n  native: pc 0000000000001009  "
		  "/x.so (alpha "
		  "/src/a.c:5) (BuildId: " ID
		  ")\n  native: #00 pc 0x0000000000001004  /x.so (alpha /src/a.c:5) (BuildId: " ID ")\n");
	check_unchanged("      #00 pc 0000000000001004  /system/lib64/x.so (f+4)\n      #00 pc 1004  /x.so "
			"(BuildId: " ID ")\n");
}

TEST(markup)
{
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
	check_log(in, expected);
	snprintf(in, sizeof(in), "%s{{{reset}}}\n{{{pc:0x500004}}}\n", modules);
	check_unchanged(in);
	check_unchanged("{{{module:0:x.so:elf:" ID
			"}}} {{{pc:0x4}}} {{{}}} {{{bt}}} {{{symbol:}}} {{{mmap:1:2}}}\n");
}

TEST(cut_anywhere)
{
	size_t size;
	char *in = everything(&size);
	struct source source;
	struct text_buf whole = {0}, parts = {0};
	unsigned seed = 5;
	source_make(&source);
	run_filter(&source, in, size, NULL, 0, &whole);
	assert_true(whole.n > size);
	for (size_t i = 0; i <= size; i++) {
		run_filter(&source, in, size, &i, 1, &parts);
		assert_int_equal(parts.n, whole.n);
		assert_memory_equal(parts.v, whole.v, whole.n);
	}
	for (int round = 0; round < 200; round++) {
		size_t cuts[40], n = 0, at = 0;
		while (n < 40 && (at += (size_t)rand_r(&seed) % 150) < size)
			cuts[n++] = at;
		source.late = (unsigned)rand_r(&seed) % 30;
		run_filter(&source, in, size, cuts, n, &parts);
		assert_int_equal(parts.n, whole.n);
		assert_memory_equal(parts.v, whole.v, whole.n);
	}
	for (size_t i = 0; i <= size; i++)
		run_filter(&source, in, i, NULL, 0, &parts); /* cut off: the sanitizers watch */
	text_deinit(&whole);
	text_deinit(&parts);
	free(in);
	source_drop(&source);
}

/* A log that was filtered is not changed by filtering it again. */
TEST(filtered_twice)
{
	size_t size;
	char *in = everything(&size);
	struct source source;
	struct text_buf once = {0}, twice = {0};
	source_make(&source);
	run_filter(&source, in, size, NULL, 0, &once);
	run_filter(&source, once.v, once.n, NULL, 0, &twice);
	text_char(&once, '\0');
	text_char(&twice, '\0');
	assert_string_equal(twice.v, once.v);
	assert_int_equal(twice.n, once.n);
	text_deinit(&once);
	text_deinit(&twice);
	free(in);
	source_drop(&source);
}

/* Random bytes, and random pieces of logs without ids that anybody knows, come out as they went in. */
TEST(everything_else_is_copied)
{
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
					     "heap_v2/1\n",
					     "\n1000-2000 r-xp 0 0:0 1 /a\n",
					     "#1  0x1004 in ?? ()\n",
					     " @ 0x1004 0x1005",
					     "Kernel Offset: 0x1 from 0x90000000\n",
					     "(+0x1)",
					     "[0x1]",
					     " /a/b",
					     "0|1|a||||0x1\n",
					     "`f + 1",
					     "!f+0x1",
					     " in a[1,2+3]",
					     "\n   f+1\n",
					     "(in a)  load address 0x1 + 0x1",
					     "@0x1+0x1",
					     " (/a/b)\n",
					     "#1 [ffff0001] f+1 at ffff0001\n",
					     "\"usedImages\":[{\"uuid\":\"ff\"}]"};
	struct source source;
	struct text_buf out = {0};
	unsigned seed = 9;
	static char in[20000];
	source_make(&source);
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
		run_filter(&source, in, size, &cut, 1, &out);
		assert_int_equal(out.n, size);
		assert_memory_equal(out.v, in, size);
	}
	text_deinit(&out);
	source_drop(&source);
}

TEST(long_lines)
{
	static char in[3 * FILTER_LINE_MAX];
	struct source source;
	struct text_buf out = {0};
	source_make(&source);
	for (size_t size = FILTER_LINE_MAX - 2; size <= FILTER_LINE_MAX + 2; size++) {
		size_t n = strlen(ID "+0x4 ");
		memset(in, 'x', sizeof(in));
		memcpy(in, ID "+0x4 ", n);
		in[size - 1] = '\n';
		memcpy(in + size, ID "+0x4\n", n);
		run_filter(&source, in, size + n, NULL, 0, &out);
		size_t one = strlen(" alpha at /src/a.c:5");
		assert_int_equal(out.n, size + n + (size > FILTER_LINE_MAX ? one : 2 * one));
	}
	text_deinit(&out);
	source_drop(&source);
}

/* A pause ends a stack and nothing else. */
TEST(pauses)
{
	struct running r;
	running_begin(&r);
	assert_int_equal(running_feed(&r, "[1]  alpha+0x4/0x40\n[1]  alp", FILTER_MORE), 0);
	assert_int_equal(r.out.n, 0);
	assert_int_equal(running_feed(&r, "", FILTER_PAUSE), 0);
	assert_int_equal(r.out.n, strlen("[1]  alpha (/src/a.c:5)\n"));
	assert_int_equal(running_feed(&r, "ha+0x4/0x40\n", FILTER_PAUSE), 0);
	assert_int_equal(r.out.n, 2 * strlen("[1]  alpha (/src/a.c:5)\n"));
	running_end(&r);
}

/* All images of a stack are asked for before the first is there, each once. */
TEST(late_images)
{
	struct running r;
	running_begin(&r);
	static const char in[] = "    #0 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: " ID ")\n"
				 "    #1 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: " ID ")\n"
				 "    #2 0x55c8ec9c41aa  (/bin/y+0x4) (BuildId: " ID ")\nend\n";
	r.source.late = 2;
	assert_int_equal(running_feed(&r, in, FILTER_MORE), -EAGAIN);
	assert_int_equal(r.used, strlen(in));
	assert_int_equal(r.source.asked, 2);
	assert_int_equal(r.out.n, 0);
	r.source.late = 1;
	assert_int_equal(running_feed(&r, "", FILTER_MORE), -EAGAIN);
	assert_int_equal(r.out.n, 0);
	assert_int_equal(running_feed(&r, "", FILTER_MORE), 0);
	assert_memory_equal(r.out.v + r.out.n - 4, "end\n", 4);
	running_end(&r);
}

/* Whatever is declared, and however long stacks are, there is an end to what is remembered. */
TEST(memory_is_bounded)
{
	struct running r;
	char line[400];
	running_begin(&r);
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
		assert_int_equal(running_feed(&r, line, FILTER_MORE), 0);
		text_reset(&r.out);
	}
	assert_true(filter_memory(r.filter) < 8 << 20);
	running_end(&r);
}
