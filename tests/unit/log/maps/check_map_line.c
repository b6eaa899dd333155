/* Lines that tell what is mapped where: of processes, tombstones and perf, and what is none. */
#include "log/maps/memory_map.h"

#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* As "START-END x OFFSET [PROCESS] PATH [=ID]", or "none". */
static void describe(const char *line, char *ret, size_t size)
{
	struct map_line m;
	char process[24] = "";
	if (!map_line_parse(scan_from(line, line + strlen(line)), &m)) {
		snprintf(ret, size, "none");
		return;
	}
	if (m.is_event)
		snprintf(process, sizeof(process), " [%" PRIu64 "]", m.process);
	snprintf(ret, size, "%" PRIx64 "-%" PRIx64 " %c %" PRIx64 "%s '%.*s'%s%.*s", m.start, m.end,
		 m.executable ? 'x' : '-', m.offset, process, (int)scan_left(&m.path), m.path.at,
		 scan_left(&m.id) ? " =" : "", (int)scan_left(&m.id), m.id.at);
}

struct row {
	const char *line, *expected;
};

static void check(const struct row *rows, size_t n)
{
	char got[512];
	for (size_t i = 0; i < n; i++) {
		describe(rows[i].line, got, sizeof(got));
		if (strcmp(got, rows[i].expected) != 0)
			fail_msg("%s: %s", rows[i].line, got);
	}
}

TEST(of_processes)
{
	static const struct row rows[] = {
		{"1000-2000 r-xp 00003000 fe:00 1    /usr/bin/a b", "1000-2000 x 3000 '/usr/bin/a b'"},
		{"  1000-2000 r-xp 0 fe:00 1 /a", "1000-2000 x 0 '/a'"},
		{"1000-2000 r-xp 0 fe:00 1 /a b (BuildId: 0123)", "1000-2000 x 0 '/a b' =0123"},
		{"1000-2000 r-xp 0 fe:00 1 /a (BuildId: 0123) b", "1000-2000 x 0 '/a (BuildId: 0123) b'"},
		{"1000-2000 ---s 0 0:0 0", "1000-2000 - 0 ''"},
		{"1000-2000 rwxp 0 0:0 0 ", "1000-2000 x 0 ''"},
		{"0-1 rw-p 0 0:0 0 [heap]", "0-1 - 0 '[heap]'"},
		{"ffffffffff600000-ffffffffffffffff --xp 0 0:0 0 [vsyscall]",
		 "ffffffffff600000-ffffffffffffffff x 0 '[vsyscall]'"},
		{"1000-1000 r-xp 0 0:0 0 /a", "none"},
		{"1000-fff r-xp 0 0:0 0 /a", "none"},
		{"-2000 r-xp 0 0:0 0 /a", "none"},
		{"1000 2000 r-xp 0 0:0 0 /a", "none"},
		{"1000- r-xp 0 0:0 0 /a", "none"},
		{"1000-2000  r-xp 0 0:0 0 /a", "none"},
		{"1000-2000 w-xp 0 0:0 0 /a", "none"},
		{"1000-2000 rxwp 0 0:0 0 /a", "none"},
		{"1000-2000 r-x- 0 0:0 0 /a", "none"},
		{"1000-2000 p 0 0:0 0 /a", "none"},
		{"1000-2000 r-xp0 0:0 0 /a", "none"},
		{"1000-2000 r-xp x 0:0 0 /a", "none"},
		{"1000-2000 r-xp 0", "none"},
		{"1000-2000 r-xp 0 0 0 0 /a", "none"},
		{"1000-2000 r-xp 0 0:x 0 /a", "none"},
		{"1000-2000 r-xp 0 0:0 /a", "none"},
		{"1000-2000 r-xp 0 x:0 0 /a", "none"},
		{"1000-2000 r-xp 0 0:00 /a", "none"},
		{"1000-2000 r-", "none"},
		{"10000000000000000-20000000000000000 r-xp 0 0:0 0 /a", "none"},
	};
	check(rows, ARRAY_SIZE(rows));
}

TEST(of_tombstones)
{
	static const struct row rows[] = {
		{"    0000007f'51c00000-0000007f'51c00fff r-x         0      1000  /x.so (BuildId: 0123)",
		 "7f51c00000-7f51c01000 x 0 '/x.so' =0123"},
		{"--->0000007f'51c00000-0000007f'51c00fff rw-      2000      1000  /x.so",
		 "7f51c00000-7f51c01000 - 2000 '/x.so'"},
		{"aa3d6000-aa3d6fff --- 0 1000", "aa3d6000-aa3d7000 - 0 ''"},
		{"aa3d6000-aa3d6fff --x 0 1000 /x (BuildId: 01) (load bias 0x2000)",
		 "aa3d6000-aa3d7000 x 0 '/x' =01"},
		{"aa3d6000-aa3d6fff --x 0 1000 /x (load bias 0x2000)", "aa3d6000-aa3d7000 x 0 '/x'"},
		{"aa3d6000-aa3d6fff --x 0 1000 /x (BuildId: 01", "aa3d6000-aa3d7000 x 0 '/x (BuildId: 01'"},
		{"00000000'00000000-00000000'00000000 --x 0 1 /x", "0-1 x 0 '/x'"},
		{"ffffffff'fffff000-ffffffff'fffffffe --x 0 fff /x",
		 "fffffffffffff000-ffffffffffffffff x 0 '/x'"},
		{"00000000'ffff0000-00000000'ffffffff --x 0 10000 /x", "ffff0000-100000000 x 0 '/x'"},
		{"ffffffff'fffff000-ffffffff'ffffffff --x 0 1000 /x", "none"},
		{"aa3d6000-aa3d6fff --x 0 1001 /x", "none"},
		{"aa3d6000-aa3d6fff --x 0 fff /x", "none"},
		{"aa3d6000-aa3d6fff --x 0 1000/x", "none"},
		{"aa3d6000-aa3d6fff --x 0", "none"},
		{"aa3d6000-aa3d6fff --x 1000 /x", "none"},
		{"aa3d6000-aa3d6fff --x0 1000 /x", "none"},
		{"aa3d6000-aa3d6fff  --x 0 1000 /x", "none"},
		{"aa3d6000-aa3d6fff x 0 1000 /x", "none"},
		{"aa3d600-aa3d6ff --x 0 100 /x", "none"},
		{"1aa3d6000-1aa3d6fff --x 0 1000 /x", "none"},
		{"1'aa3d6000-1'aa3d6fff --x 0 1000 /x", "none"},
		{"00000001'aa3d600-00000001'aa3d6ff --x 0 100 /x", "none"},
		{"00000001'1aa3d6000-00000001'1aa3d6fff --x 0 1000 /x", "none"},
		{"aa3d6000'-aa3d6fff --x 0 1000 /x", "none"},
		{"aa3d6000 aa3d6fff --x 0 1000 /x", "none"},
		{"aa3d6fff-aa3d6000 --x 0 fffffffffffff002 /x", "none"},
	};
	check(rows, ARRAY_SIZE(rows));
}

#define EVENT "x 4711 0.1: PERF_RECORD_MMAP"

TEST(of_perf)
{
	static const struct row rows[] = {
		{EVENT "2 4711/4712: [0x7f51c0000000(0x1000) @ 0x3000 fe:00 1 2]: r-xp /bin/x y",
		 "7f51c0000000-7f51c0001000 x 3000 [4711] '/bin/x y'"},
		{EVENT "2 -1/0: [0x1000(0x1000) @ 0 <0123>]: ---p [kernel.kallsyms]_text",
		 "1000-2000 - 0 [18446744073709551615] '[kernel.kallsyms]_text' =0123"},
		{EVENT "2 1/2: [0x1000(0x1000) @ 0 fe:00 1 2]: r--s /bin/x", "1000-2000 - 0 [1] '/bin/x'"},
		{EVENT "2 1/2: [0x1000(0x1000) @ 0 <0123>]: r-xp /bin/x", "1000-2000 x 0 [1] '/bin/x' =0123"},
		{EVENT "2 1/2: [0x1000(0x1000) @ 0 <>]: r-xp /bin/x", "1000-2000 x 0 [1] '/bin/x'"},
		{EVENT "2 1/2: [0x1000(0x1000) @ 0 <0123]: r-xp /bin/x", "1000-2000 x 0 [1] '/bin/x'"},
		{EVENT "2 1/2: [0x1000(0x1000) @ 0 0123>]: r-xp /bin/x", "1000-2000 x 0 [1] '/bin/x'"},
		{EVENT " 1/2: [0x1000(0x1000) @ 0x10]: x /bin/x", "1000-2000 x 10 [1] '/bin/x'"},
		{EVENT " 1/2: [0x1000(10) @ 10]: r /bin/x", "1000-1010 - 10 [1] '/bin/x'"},
		{EVENT " 1/2: [0x1000(0x1000) @ 0]: w /bin/x", "none"},
		{EVENT " 1/2: [0x1000(0x1000) @ 0]: x/bin/x", "none"},
		{EVENT " 1/2: [0x1000(0x1000) @ 0]: r-xp /bin/x", "none"},
		{EVENT "2 1/2: [0x1000(0x1000) @ 0 x]: x /bin/x", "none"},
		{EVENT "2 1/2: [0x1000(0x1000) @ 0 x]: r-x /bin/x", "none"},
		{EVENT "2 1/2: [0x1000(0x1000) @ 0 x] r-xp /bin/x", "none"},
		{EVENT " 1/2: [0x1000(0x1000) @ 0x10x /bin/x", "none"},
		{EVENT "3 1/2: [0x1000(0x1000) @ 0]: x /bin/x", "none"},
		{EVENT " 1 2: [0x1000(0x1000) @ 0]: x /bin/x", "none"},
		{EVENT " 1/x: [0x1000(0x1000) @ 0]: x /bin/x", "none"},
		{EVENT " 1/2 [0x1000(0x1000) @ 0]: x /bin/x", "none"},
		{EVENT " 1/2: [1000(0x1000) @ 0]: x /bin/x", "none"},
		{EVENT " 1/2: [0x1000 0x1000) @ 0]: x /bin/x", "none"},
		{EVENT " 1/2: [0x1000(x) @ 0]: x /bin/x", "none"},
		{EVENT " 1/2: [0x1000(0x1000) 0]: x /bin/x", "none"},
		{EVENT " 1/2: [0x1000(0x1000) @ x]: x /bin/x", "none"},
		{EVENT " 1/2: [0x1000(0) @ 0]: x /bin/x", "none"},
		{EVENT " 1/2: [0xfffffffffffff000(0xfff) @ 0]: x /bin/x",
		 "fffffffffffff000-ffffffffffffffff x 0 [1] '/bin/x'"},
		{EVENT " 1/2: [0xfffffffffffff000(0x1000) @ 0]: x /bin/x", "none"},
		{"PERF_RECORD_MMAP 1/2: [0x1000(0x1000) @ 0]: x /bin/x", "none"},
		{"", "none"},
	};
	check(rows, ARRAY_SIZE(rows));
}

/* Nothing after the line belongs to it. */
TEST(bounds)
{
	static const char text[] = "1000-2000 r-xp 0 0:0 0";
	struct map_line m;
	for (size_t size = 0; size < strlen(text); size++)
		assert_false(map_line_parse(scan_from(text, text + size), &m));
	assert_true(map_line_parse(scan_from(text, text + strlen(text)), &m));
	assert_true(m.path.at == text + strlen(text) && scan_left(&m.path) == 0 && scan_left(&m.id) == 0);
}
