/* Addresses in memory and nothing else, with and without what tells which modules are there. */
#include "tests/unit/log/engine/filter_sample.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

/* The file's functions begin at its second page, as does its code. */
#define ALPHA6 " alpha at /src/a.c:6"
#define MAPS                                                                                  \
	"5581f7f2a000-5581f7f2b000 r--p 00000000 fe:00 11199062                   /opt/app\n" \
	"5581f7f2b000-5581f7f2c000 r-xp 00001000 fe:00 11199062                   /opt/app\n" \
	"7ffc00000000-7ffc00001000 rw-p 00000000 00:00 0                          [stack]\n"

/* As the image base of the sample is where its functions are, they are at the first page. */
#define CODE "5581f7f2a000-5581f7f2b000 r-xp 00000000 fe:00 11199062                   /opt/app\n"

TEST(forms)
{
	check_log(CODE "#0  0x00005581f7f2a010 in ?? ()\n#1  0x00005581f7f2a010 in ?? ()\n",
		  CODE "#0  0x00005581f7f2a010 in alpha at /src/a.c:6\n#1  0x00005581f7f2a010 in beta at "
		       "/src/b.h:7\n"
		       "#1  0x00005581f7f2a010 in alpha at /src/a.c:5\n");
	check_log(CODE "   0:     0x5581f7f2a010 - <unknown>\n   1:     0x5581f7f2a010 - <unknown>\n",
		  CODE "   0:     0x5581f7f2a010 - alpha at /src/a.c:6\n   1:     0x5581f7f2a010 - beta at "
		       "/src/b.h:7\n"
		       "   1:     0x5581f7f2a010 - alpha at /src/a.c:5\n");
	check_log(CODE " 1# 0x00005581f7f2a010 in ./app\n    @     0x5581f7f2a010 (unknown)\n",
		  CODE " 1# 0x00005581f7f2a010 beta at /src/b.h:7 (inlined by) alpha at /src/a.c:5 in ./app\n"
		       "    @     0x5581f7f2a010 beta at /src/b.h:7\n    @     0x5581f7f2a010 alpha at "
		       "/src/a.c:5\n");
	check_log(CODE "==1==    at 0x5581F7F2A010: ??? (in /opt/app)\n==1==    by 0x5581F7F2A00F: ??? (in "
		       "/opt/app)\n",
		  CODE "==1==    at 0x5581F7F2A010: alpha at /src/a.c:6 (in /opt/app)\n"
		       "==1==    by 0x5581F7F2A00F: beta at /src/b.h:7\n"
		       "==1==    by 0x5581F7F2A00F: alpha at /src/a.c:5 (in /opt/app)\n");
	check_log(CODE "rip 00005581f7f2a004, rsp 0x7ffc00000010\n",
		  CODE "rip 00005581f7f2a004 alpha at /src/a.c:5, rsp 0x7ffc00000010\n");
	check_log(CODE "0x5581f7f2a044 in f::one() x\n@ 0x5581f7f2a044 f::one()\n0x5581f7f2a044 f::one()x\n",
		  CODE "0x5581f7f2a044 in f::one() x\n@ 0x5581f7f2a044 f::one()\n0x5581f7f2a044 f::one()+0x4 "
		       "f::one()x\n");
	check_log(CODE "pc=0x5581f7f2a004 RIP=00005581f7f2a004 xpc=0x5581f7f2a004\n",
		  CODE "pc=0x5581f7f2a004 alpha at /src/a.c:5 RIP=00005581f7f2a004 alpha at /src/a.c:5 "
		       "xpc=0x5581f7f2a004\n");
	check_log(CODE " * frame #0: 0x5581f7f2a010 app`___lldb_unnamed_symbol1 + 7\n"
		       "   frame #1: 0x5581f7f2a010 app`___lldb_unnamed_symbol1 + 7\n",
		  CODE " * frame #0: 0x5581f7f2a010" ALPHA6 " app`___lldb_unnamed_symbol1 + 7\n"
		       "   frame #1: 0x5581f7f2a010 beta at /src/b.h:7 (inlined by) alpha at /src/a.c:5 "
		       "app`___lldb_unnamed_symbol1 + 7\n");
	check_unchanged(CODE
			"#1 0x5581f7f2a010 in f () at a.c:3\nx0x5581f7f2a010 0x5581f7f2a010z 5581f7f2a010 "
			"0x5581f7f2a010+4 a=0x5581f7f2a010 0x5581f7f2b000 0x55581f7f2a0100000\n");
	check_unchanged("#1  0x00005581f7f2a010 in ?? ()\n");
}

/* Lists of mappings: what is code, what a list replaces. */
TEST(maps)
{
	check_log(MAPS "#0 0x5581f7f2b010 in ??\n", MAPS "#0 0x5581f7f2b010 in ??\n");
	check_unchanged(MAPS "#0 0x5581f7f2a010 in ??\n"); /* no code */
	/* The first page is not mapped: an offset in the file. */
	check_log("5581f7f2b000-5581f7f2c000 r-xp 00000010 fe:00 1  /opt/app\n#0 0x5581f7f2b000 in ??\n",
		  "5581f7f2b000-5581f7f2c000 r-xp 00000010 fe:00 1  /opt/app\n#0 0x5581f7f2b000 in alpha at "
		  "/src/a.c:6\n");
	check_unchanged(CODE "other\n1000-2000 r-xp 00000000 fe:00 1 /opt/app\n#0 0x5581f7f2a010 in ??\n");
	check_unchanged(
		CODE
		"5581f7f2a000-5581f7f2b000 r-xp 00000000 fe:00 1 /lib/other.so\n#0 0x5581f7f2a010 in ??\n");
	check_unchanged(CODE "5581f7f2a000-5581f7f2b000 r-xp 00000000 00:00 0 \n#0 0x5581f7f2a010 in ??\n");
	check_log(
		CODE
		"5581f7f2a020-5581f7f2a030 r-xp 0 fe:00 1 /lib/other.so\n#0 0x5581f7f2a010 0x5581f7f2a020\n",
		CODE "5581f7f2a020-5581f7f2a030 r-xp 0 fe:00 1 /lib/other.so\n#0 0x5581f7f2a010 alpha at "
		     "/src/a.c:6 0x5581f7f2a020\n");
	check_unchanged(
		"5581f7f2b000-5581f7f2a000 r-xp 0 fe:00 1 /opt/app\n5581f7f2a000-5581f7f2b000 rwx 0 fe:00 1 "
		"/opt/app\n5581f7f2a000-5581f7f2b000 r-xp 0 fe:00 1x /opt/app\n#0 0x5581f7f2a010 in ??\n");
}

/* Tombstones have mappings after the frames, whose ends are the last bytes, and ids. */
#define TOMBSTONE                                                                                 \
	"memory map (3 entries):\n"                                                               \
	"    00000073'd2a00000-00000073'd2a00fff r-x         0      1000  /system/lib64/libx.so " \
	"(BuildId: " ID ") (load bias 0x1000)\n"                                                  \
	"--->00000073'd2a10000-00000073'd2a10fff r-x         0      1000  /system/bin/app\n"      \
	"    00000073'd2a20000-00000073'd2a20fff rw-         0      1000\n"

TEST(tombstones)
{
	static const char begin[] = "*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***\n";
	char in[2000], expected[2000];
	snprintf(in, sizeof(in), "%s    lr  00000073d2a00004  pc  00000073d2a10010\n\n%s\n", begin,
		 TOMBSTONE);
	snprintf(
		expected, sizeof(expected),
		"%s    lr  00000073d2a00004 alpha at /src/a.c:5  pc  00000073d2a10010 alpha at /src/a.c:6\n\n"
		"%s\n",
		begin, TOMBSTONE);
	check_log(in, expected);
	/* 32 bits; and sizes that contradict the ends. */
	check_log("    aa3d6000-aa3d6fff r-x         0      1000  /app\n0xaa3d6004\n",
		  "    aa3d6000-aa3d6fff r-x         0      1000  /app\n0xaa3d6004 alpha at /src/a.c:5\n");
	check_unchanged("    aa3d6000-aa3d6fff r-x         0      2000  /app\n0xaa3d6004\n");
	check_unchanged("    00000073'd2a00000-ffffffff'ffffffff r-x 0 8c2d5ffffff /app\n0x73d2a00004\n");
}

/* What perf writes: mappings of several processes, offsets in files or addresses. */
#define EVENT(process, start, off, path)                                                                     \
	"x y 1 0.1: PERF_RECORD_MMAP2 " #process "/1: [" #start "(0x1000) @ " #off " fe:00 1 2]: r-xp " path \
	"\n"

TEST(perf)
{
	check_log("\t  10 [unknown] (/opt/app)\n\t  10 [unknown] (/opt/app (deleted))\n",
		  "\t  10 alpha at /src/a.c:6 (/opt/app)\n\t  10 beta at /src/b.h:7\n"
		  "\t  10 alpha at /src/a.c:5 (/opt/app (deleted))\n");
	check_log("x 1 0.1: 250 cycles:u:  10 [unknown] (/opt/app)\n"
		  "x 1 0.1: 250 cycles: ffffffff81001004 alpha+0x4 ([kernel.kallsyms])\n",
		  "x 1 0.1: 250 cycles:u:  10 alpha at /src/a.c:6 (/opt/app)\n"
		  "x 1 0.1: 250 cycles: ffffffff81001004 alpha (/src/a.c:5) ([kernel.kallsyms])\n");
	check_log("  1224 g::twice(int)+0x4 (/opt/app)\n\n  1232 g::twice+0x12 (/opt/app)\n",
		  "  1224 g::twice(int) at /src/a.c:90 (/opt/app)\n\n"
		  "  1232 g::twice(int) at /src/a.c:90 (/opt/app)\n");
	/* Another function: it starts elsewhere in the page. */
	check_unchanged("  1228 g::twice(int)+0x4 (/opt/app)\n\n  7f51c0003018 alpha+0x10 (/opt/app)\n\n"
			"  7f51c0000108 both+0x4 (/opt/app)\n\n  7f51c0003010 alpha+0x10 (/opt/app)\n");
	check_unchanged(
		"  7f51c0000010 [unknown] (/opt/app)\n  10 [unknown] ([unknown])\n  10 [unknown] (//anon)\n"
		"  10 [unknown] (/tmp/perf-12.map)\n  10 [unknown] (app)\n  10 alpha (/opt/app)\n"
		"  10 [unknown] ([vdso])\n  10 work (inlined)\n  10 g::twice+0x2 (/opt/app)\n");
	check_log(EVENT(1, 0x7f51c0000000, 0, "/opt/app") "  7f51c0000010 [unknown] (/opt/app)\n",
		  EVENT(1, 0x7f51c0000000, 0, "/opt/app") "  7f51c0000010 alpha at /src/a.c:6 (/opt/app)\n");
	check_log("x 1 0.1: PERF_RECORD_MMAP 1/1: [0x7f51c0000000(0x1000) @ 0]: x /opt/app\n"
		  "  7f51c0000010 [unknown] (/opt/app)\n",
		  "x 1 0.1: PERF_RECORD_MMAP 1/1: [0x7f51c0000000(0x1000) @ 0]: x /opt/app\n"
		  "  7f51c0000010 alpha at /src/a.c:6 (/opt/app)\n");
	check_log("x 1 0.1: PERF_RECORD_MMAP2 1/1: [0x7f51c0000000(0x1000) @ 0 <" ID ">]: r-xp /opt/libx.so\n"
		  "  7f51c0000010 [unknown] (/opt/libx.so)\n",
		  "x 1 0.1: PERF_RECORD_MMAP2 1/1: [0x7f51c0000000(0x1000) @ 0 <" ID ">]: r-xp /opt/libx.so\n"
		  "  7f51c0000010 alpha at /src/a.c:6 (/opt/libx.so)\n");
	/* Symbols alone: the file has one id in all events; so have the kernel and a module. */
#define SYMBOLS(id)                                                                              \
	"x 1 0.1: PERF_RECORD_MMAP2 1/1: [0x7f51c0000000(0x1000) @ 0 <" id ">]: r-xp /opt/app\n" \
	"x 1 0.1: PERF_RECORD_MMAP2 -1/0: [0xffffffff81000000(0x1000) @ 0 <" id                  \
	">]: ---p [kernel.kallsyms]_text\n"                                                      \
	"x 1 0.1: PERF_RECORD_MMAP2 -1/0: [0xffffffffc1000000(0x1000) @ 0 <" id ">]: ---p /m/my-mod.ko.xz\n"
#define FRAMES                                                                               \
	"  1004 alpha+0x4 (/opt/app)\n\n ffffffff81001004 alpha+0x4 ([kernel.kallsyms])\n\n" \
	" ffffffffc1001004 alpha+0x4 ([my_mod])\n"
	check_unchanged(SYMBOLS("0123456789abcdef") FRAMES);
	check_log(SYMBOLS(ID) FRAMES,
		  SYMBOLS(ID) "  1004 alpha at /src/a.c:5 (/opt/app)\n\n"
			      " ffffffff81001004 alpha (/src/a.c:5) ([kernel.kallsyms])\n\n"
			      " ffffffffc1001004 alpha (/src/a.c:5) ([my_mod])\n");
	/* Of another file or nothing there; of two processes that have it at other addresses. */
	check_unchanged(EVENT(1, 0x7f51c0000000, 0, "/opt/app") EVENT(
		2, 0x7f51c0000000, 0,
		"/other") "  7f51c0000010 [unknown] (/opt/app)\n7f51c0000010\n0x7f51c0000010\n");
	check_unchanged(EVENT(1, 0x7f51c0000000, 0, "/opt/app") EVENT(
		2, 0x7f51c0000000, 0x10, "/opt/app") "  7f51c0000010 [unknown] (/opt/app)\n");
	/* As an offset in the file it is in another function than as an address. */
	check_unchanged(EVENT(1, 0x100, 0, "/opt/app") "  110 [unknown] (/opt/app)\n");
	check_log("  110 [unknown] (/opt/app)\n", "  110 both at /src/a.c:51 (/opt/app)\n");
}

/* Heap files have their mappings at the end, so they are held until then. */
TEST(heap_files)
{
	check_log(
		"x\nheap_v2/524288\n  t*: 1: 16 [0: 0]\n@ 0x5581f7f2a010 0x5581f7f2a044 0x1\n  t*: 1: 16 [0: "
		"0]\n\nMAPPED_LIBRARIES:\n" CODE "\n0x5581f7f2a004\n",
		"x\nheap_v2/524288\n  t*: 1: 16 [0: 0]\n@ 0x5581f7f2a010 beta at /src/b.h:7 (inlined by) "
		"alpha at "
		"/src/a.c:5 0x5581f7f2a044 f::one()+0x4 0x1\n  t*: 1: 16 [0: 0]\n\nMAPPED_LIBRARIES:\n" CODE
		"\n0x5581f7f2a004 alpha at /src/a.c:5\n");
	check_log("heap profile:  1: 16 [ 1: 16] @ heapprofile\n 1: 16 [ 1: 16] @ "
		  "0x5581f7f2a005\n\nMAPPED_LIBRARIES:\n" CODE,
		  "heap profile:  1: 16 [ 1: 16] @ heapprofile\n 1: 16 [ 1: 16] @ 0x5581f7f2a005 alpha at "
		  "/src/a.c:5\n\nMAPPED_LIBRARIES:\n" CODE);
	check_unchanged("heap_v2/524288\n@ 0x5581f7f2a010\n");
}

/* KASLR: the addresses of a kernel after it told where it is. */
TEST(kernel_offset)
{
	check_log("Kernel Offset: 0x1c000000 from 0x1000 (relocation range: 0x0-0x1)\n0x1c001004 \n",
		  "Kernel Offset: 0x1c000000 from 0x1000 (relocation range: 0x0-0x1)\n0x1c001004 alpha at "
		  "/src/a.c:5 "
		  "\n");
	check_log("Kernel Offset: 0x1c000000 from 0x1000\n000000001c001004\n",
		  "Kernel Offset: 0x1c000000 from 0x1000\n000000001c001004 alpha at /src/a.c:5\n");
	check_unchanged("Kernel Offset: 0x1c000000 from 0x1000\nLinux version 6\n0x1c001004 \n");
	check_unchanged("Kernel Offset: disabled\nKernel Offset: 0x1 fro\n0x1c001004 \n");
}

/* What the caller tells of memory. */
TEST(given)
{
	struct running r;
	const struct filter_module module = {.name = "app"};
	running_begin(&r);
	assert_int_equal(filter_add_mapping(r.filter, CODE, strlen(CODE)), 0);
	assert_int_equal(filter_add_mapping(r.filter, "noise\n", 6), 0);
	assert_int_equal(filter_add_module(r.filter, &module, 0x700000, 0x710000, 0, false), 0);
	assert_int_equal(filter_add_module(r.filter, &module, 0x800000, 0x810000, BASE, true), 0);
	assert_int_equal(running_feed(&r, "0x5581f7f2a004 0x700004 0x800004 0x710000\n", FILTER_END), 0);
	text_char(&r.out, '\0');
	assert_string_equal(r.out.v,
			    "0x5581f7f2a004 alpha at /src/a.c:5 0x700004 alpha at /src/a.c:5 0x800004 alpha "
			    "at /src/a.c:5 0x710000\n");
	running_end(&r);
}

/* Where the range of a module ends is not known: what is in none of its functions may be anything. */
TEST(estimated)
{
	const struct filter_unexplained *list;
	const struct filter_module module = {.name = "app"};
	struct running r;
	running_begin(&r);
	assert_int_equal(filter_add_module(r.filter, &module, 0x700000, 0x800000, 0, false), 0);
	assert_int_equal(running_feed(&r, "0x700004 0x7f0000\n#1 0x7f0000 in ?? ()\n", FILTER_END), 0);
	assert_int_equal(filter_count(r.filter).met, 2);
	assert_int_equal(filter_count(r.filter).found, 1);
	assert_int_equal(filter_unexplained(r.filter, &list), 1);
	assert_int_equal(list[0].cause, FILTER_NO_MAPPING);
	assert_string_equal(list[0].module.name, "");
	running_end(&r);
}

/* Lists of mappings without an end, and each cutting another. */
TEST(maps_are_bounded)
{
	struct running r;
	char line[200];
	running_begin(&r);
	for (unsigned i = 0; i < 40000; i++) {
		unsigned at = i % 2 ? i : 39999 - i;
		snprintf(line, sizeof(line), "%x000-%x800 r-xp 0 fe:00 1 /x%u\n", at + 1, at + 1 + i % 3, i);
		assert_int_equal(running_feed(&r, line, FILTER_MORE), 0);
		text_reset(&r.out);
	}
	assert_true(filter_memory(r.filter) < 8 << 20);
	running_end(&r);
}
