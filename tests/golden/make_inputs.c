/*
 * Writes the GSYM files the golden tests read into the directory given:
 *
 *   plain.gsym     C and C++ functions, inlined calls, a symbol, call sites, a folded function; version 1
 *   plain2.gsym    the same as version 2 in big-endian order
 *   merged.gsym    functions folded onto one range, each with lines and call sites of its own
 *   nested.gsym    functions that lie within others, or begin where others do
 *   long_uuid.gsym version 2 with a UUID that version 1 has no room for
 *   hostile.gsym   names and paths that would move a cursor, forge a line or turn the text around
 *   broken.gsym    plain.gsym with the record of its second function damaged
 */
#include "gsym/base/vec.h"
#include "gsym/gsym.h"

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BASE = 0x1000 };

static void check(int err, const struct gsym_diag *diag)
{
	if (err == 0)
		return;
	fprintf(stderr, "make_inputs: %s\n", diag->text);
	exit(1);
}

static uint64_t string(struct gsym_writer *writer, const char *text)
{
	struct gsym_diag diag = {.text = "out of memory"};
	uint64_t strp = 0;
	check(gsym_writer_string(writer, text, strlen(text), &strp), &diag);
	return strp;
}

static uint32_t file(struct gsym_writer *writer, const char *dir, const char *base)
{
	struct gsym_diag diag = {.text = "out of memory"};
	uint32_t index = 0;
	uint64_t dir_strp = string(writer, dir), base_strp = string(writer, base);
	check(gsym_writer_file(writer, dir_strp, base_strp, &index), &diag);
	return index;
}

static void add(struct gsym_writer *writer, const struct gsym_func *func)
{
	struct gsym_diag diag = {.text = ""};
	check(gsym_writer_add(writer, func, &diag), &diag);
}

/* A function of 16 bytes with one row. */
static void add_simple(struct gsym_writer *writer, uint64_t start, const char *name, uint32_t at,
		       uint32_t line)
{
	struct gsym_row row = {0, at, line};
	struct gsym_func func = {
		.start = start, .size = 16, .name = string(writer, name), .rows = &row, .n_rows = 1};
	add(writer, &func);
}

/* Initialisers are evaluated in any order: strings stored before keep their places in the table. */
static void add_strings(struct gsym_writer *writer)
{
	static const char *const texts[] = {"main", "_ZNK5Shape4areaEv", "square", "_ZN5ShapeC2Ev", "^f.*$"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		string(writer, texts[i]);
}

/* main, with area() inlined twice over, and two calls. */
static void add_main(struct gsym_writer *writer)
{
	add_strings(writer);
	uint32_t main_c = file(writer, "/src/app", "main.cc"),
		 shape_h = file(writer, "/src/app/include", "shape.h");
	const struct gsym_row rows[] = {
		{0, main_c, 10}, {4, shape_h, 7}, {12, shape_h, 3}, {20, main_c, 12}, {28, main_c, 0}};
	const struct gsym_range ranges[] = {{4, 16}, {12, 8}};
	const struct gsym_inline inlines[] = {
		{string(writer, "_ZNK5Shape4areaEv"), main_c, 11, 1, 0, 1},
		{string(writer, "square"), shape_h, 8, 2, 1, 1},
	};
	const uint64_t patterns[] = {string(writer, "_ZN5ShapeC2Ev"), string(writer, "^f.*$")};
	const struct gsym_callsite sites[] = {{8, 0, 2, 0},
					      {24, 0, 0, GSYM_CALLSITE_INTERNAL | GSYM_CALLSITE_EXTERNAL}};
	const struct gsym_func func = {
		.start = BASE,
		.size = 32,
		.name = string(writer, "main"),
		.rows = rows,
		.n_rows = ARRAY_SIZE(rows),
		.inlines = inlines,
		.n_inlines = ARRAY_SIZE(inlines),
		.ranges = ranges,
		.n_ranges = ARRAY_SIZE(ranges),
		.callsites = sites,
		.n_callsites = ARRAY_SIZE(sites),
		.patterns = patterns,
		.n_patterns = ARRAY_SIZE(patterns),
	};
	add(writer, &func);
}

/* Two functions folded onto one range. */
static void add_folded(struct gsym_writer *writer, uint64_t start)
{
	uint32_t at = file(writer, "/src/app", "fold.cc");
	const struct gsym_row row[] = {{0, at, 5}}, other_row[] = {{0, at, 9}};
	const struct gsym_func other = {
		.start = start, .size = 8, .name = string(writer, "fold_b"), .rows = other_row, .n_rows = 1};
	const struct gsym_func func = {.start = start,
				       .size = 8,
				       .name = string(writer, "fold_a"),
				       .rows = row,
				       .n_rows = 1,
				       .merged = &other,
				       .n_merged = 1};
	add(writer, &func);
}

static void write_plain(struct gsym_writer *writer)
{
	static const char *const mangled[] = {
		"_ZN5Shape4moveERKSt6vectorIS_SaIS_EE",
		"_ZN5Shape4drawEv.cold",
		"_RNvCs15kBYyAo9fc_7mycrate7example",
		"_ZN4core3fmt5write17h0123456789abcdefE",
	};
	struct gsym_func symbol = {.start = BASE + 0x100, .size = 16, .name = string(writer, "_start")};
	add_main(writer);
	for (size_t i = 0; i < ARRAY_SIZE(mangled); i++)
		add_simple(writer, BASE + 0x20 + 0x10 * i, mangled[i], file(writer, "", "shape.cc"),
			   20 + (uint32_t)i);
	add_folded(writer, BASE + 0x80);
	add(writer, &symbol);
}

/* What one of the functions folded onto a range says of it. */
struct body {
	const char *name;
	uint32_t line; /* 0: only a symbol */
	const char *callee, *other_callee;
};

/* One of several functions of 16 bytes. Its call returns at its fourth byte, once more at its eighth. */
static struct gsym_func fold(struct gsym_writer *writer, uint64_t start, const struct body *body)
{
	static struct gsym_row rows[8];
	static struct gsym_callsite sites[8][3];
	static uint64_t patterns[8][3];
	static size_t used;
	size_t i = used++ % ARRAY_SIZE(rows);
	rows[i] = (struct gsym_row){0, file(writer, "/src/app", "fold.cc"), body->line};
	sites[i][0] = (struct gsym_callsite){4, 0, 2, GSYM_CALLSITE_INTERNAL};
	sites[i][1] = (struct gsym_callsite){4, 2, 1, 0}; /* the first of one place counts */
	sites[i][2] = (struct gsym_callsite){8, 0, 0, GSYM_CALLSITE_EXTERNAL};
	patterns[i][0] = string(writer, body->callee);
	patterns[i][1] = string(writer, body->other_callee);
	patterns[i][2] = string(writer, "never shown");
	return (struct gsym_func){
		.start = start,
		.size = 16,
		.name = string(writer, body->name),
		.rows = &rows[i],
		.n_rows = body->line ? 1 : 0,
		.callsites = sites[i],
		.n_callsites = 3,
		.patterns = patterns[i],
		.n_patterns = 3,
	};
}

static void write_merged(struct gsym_writer *writer)
{
	static const struct body bodies[] = {{"_ZN1f3oneEv", 5, "g1", "_ZN1g3oneEv"},
					     {"_ZN1f3twoEv", 9, "g2", "^g.*two$"},
					     {"f_three", 0, "g3", "h"}};
	struct gsym_func merged[2], func = fold(writer, BASE, &bodies[0]);
	for (size_t i = 0; i < ARRAY_SIZE(merged); i++)
		merged[i] = fold(writer, BASE, &bodies[i + 1]);
	func.merged = merged;
	func.n_merged = ARRAY_SIZE(merged);
	add(writer, &func);
	func = fold(writer, BASE + 0x10, &bodies[0]);
	add(writer, &func);
	func = fold(writer, BASE + 0x20, &bodies[2]);
	add(writer, &func);
}

static void write_nested(struct gsym_writer *writer)
{
	struct gsym_func func;
	add_simple(writer, BASE + 0x100, "small", file(writer, "/src/app", "nest.cc"), 1);
	func = (struct gsym_func){.start = BASE + 0x100, .size = 0x100, .name = string(writer, "host")};
	add(writer, &func);
	add_simple(writer, BASE + 0x140, "nested", file(writer, "/src/app", "nest.cc"), 2);
	add_simple(writer, BASE + 0x200, "behind", file(writer, "/src/app", "nest.cc"), 3);
}

static void write_hostile(struct gsym_writer *writer)
{
	static const char *const names[] = {
		"red\033[31mname",
		"two\nlines at /etc/passwd:1",
		"tab\tand\\backslash",
		"bad\xff\xc0\x80utf8",
		"right\xe2\x80\xaeto left",
		"c1\xc2\x9b[2J",
		"caf\xc3\xa9 \xf0\x9f\x98\x80",
		"\"quoted\"",
		"_ZN4\033[2mEv",
		"del\x7f",
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add_simple(writer, BASE + 0x10 * i, names[i], file(writer, "/s\nrc", "a\033.c"), 1);
	add_simple(writer, BASE + 0x200, "windows", file(writer, "C:\\src", "a.c"), 2);
	add_simple(writer, BASE + 0x210, "root", file(writer, "/", "a.c"), 3);
	add_simple(writer, BASE + 0x220, "only_dir", file(writer, "/src", ""), 4);
}

static int open_out(const char *dir, const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	return fd;
}

enum { UUID_SIZE = 8, LONG_UUID_SIZE = 32 };

static int make(const char *dir, const char *name, uint16_t version, bool big, size_t uuid_size,
		void (*fill)(struct gsym_writer *))
{
	static const uint8_t uuid[LONG_UUID_SIZE] = {0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3};
	struct gsym_writer_options options = {.struct_size = sizeof(options),
					      .version = version,
					      .big_endian = big,
					      .has_base_address = true,
					      .base_address = BASE,
					      .uuid = uuid,
					      .uuid_size = uuid_size};
	struct gsym_diag diag = {.text = ""};
	struct gsym_writer *writer;
	int fd = open_out(dir, name);
	check(gsym_writer_new(&options, &writer, &diag), &diag);
	fill(writer);
	check(gsym_writer_finish(writer, fd, &diag), &diag);
	gsym_writer_free(writer);
	return fd;
}

/* Puts a name that is no string into the second record: its place is the second entry of the info offsets. */
static void damage(int fd)
{
	uint8_t head[48 + 8 + 8];
	uint32_t functions, off;
	const uint32_t name = UINT32_MAX;
	if (pread(fd, head, sizeof(head), 0) != sizeof(head))
		exit(1);
	memcpy(&functions, head + 16, sizeof(functions));
	functions = le32toh(functions);
	off_t entry = 48 + ((off_t)functions * head[6] + 3) / 4 * 4 + 4;
	if (pread(fd, &off, sizeof(off), entry) != sizeof(off) ||
	    pwrite(fd, &name, sizeof(name), le32toh(off) + 4) != sizeof(name))
		exit(1);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	close(make(argv[1], "plain.gsym", 1, false, UUID_SIZE, write_plain));
	close(make(argv[1], "plain2.gsym", 2, true, UUID_SIZE, write_plain));
	close(make(argv[1], "merged.gsym", 1, false, UUID_SIZE, write_merged));
	close(make(argv[1], "nested.gsym", 1, false, UUID_SIZE, write_nested));
	close(make(argv[1], "long_uuid.gsym", 2, false, LONG_UUID_SIZE, write_nested));
	close(make(argv[1], "hostile.gsym", 1, false, UUID_SIZE, write_hostile));
	int fd = make(argv[1], "broken.gsym", 1, false, UUID_SIZE, write_plain);
	damage(fd);
	close(fd);
	return 0;
}
