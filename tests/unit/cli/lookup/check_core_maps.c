/* The files that were mapped in a process: core files of either class and byte order, cut and crafted. */

#include "cli/lookup/core_maps.h"
#include "gsym/codec/buf.h"
#include "tests/lib/unit.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NT_FILE_TYPE = 0x46494c45 };

/* Which kind of file, and what is odd about it. */
struct core_kind {
	bool wide, big;
	uint16_t type, n_segments; /* type of the file */
	bool no_magic;
};

struct segment_row {
	uint32_t type, flags;
	uint64_t addr, size;
};

struct mapped_row {
	uint64_t start, end, page;
	const char *name;
};

static char path[] = "/tmp/check_core.XXXXXX";

static void put_word(struct buf *b, const struct core_kind *kind, uint64_t value)
{
	if (kind->wide)
		buf_u64(b, value);
	else
		buf_u32(b, (uint32_t)value);
}

static void put_header(struct buf *b, const struct core_kind *kind)
{
	const uint8_t ident[EI_NIDENT] = {kind->no_magic ? 0 : ELFMAG0,
					  ELFMAG1,
					  ELFMAG2,
					  ELFMAG3,
					  kind->wide ? ELFCLASS64 : ELFCLASS32,
					  kind->big ? ELFDATA2MSB : ELFDATA2LSB,
					  EV_CURRENT};
	buf_bytes(b, ident, sizeof(ident));
	buf_u16(b, kind->type);
	buf_u16(b, 0);
	buf_u32(b, 0);
	put_word(b, kind, 0);
	put_word(b, kind, kind->wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
	put_word(b, kind, 0);
	buf_u32(b, 0);
	buf_u16(b, 0);
	buf_u16(b, 0);
	buf_u16(b, kind->n_segments);
	buf_zeros(b, 6);
}

static void put_segment(struct buf *b, const struct core_kind *kind, const struct segment_row *row,
			uint64_t off, uint64_t file_size)
{
	buf_u32(b, row->type);
	if (kind->wide)
		buf_u32(b, row->flags);
	put_word(b, kind, off);
	put_word(b, kind, row->addr);
	put_word(b, kind, 0);
	put_word(b, kind, file_size);
	put_word(b, kind, row->size);
	if (!kind->wide)
		buf_u32(b, row->flags);
	put_word(b, kind, 0);
}

static void put_note(struct buf *b, uint32_t type, const void *data, size_t size)
{
	buf_u32(b, 5);
	buf_u32(b, (uint32_t)size);
	buf_u32(b, type);
	buf_bytes(b, "CORE\0\0\0", 8);
	buf_bytes(b, data, size);
	buf_zeros(b, -size & 3);
}

static void put_files(struct buf *b, const struct core_kind *kind, const struct mapped_row *rows, size_t n,
		      uint64_t count)
{
	put_word(b, kind, count);
	put_word(b, kind, 0x1000);
	for (size_t i = 0; i < n; i++) {
		put_word(b, kind, rows[i].start);
		put_word(b, kind, rows[i].end);
		put_word(b, kind, rows[i].page);
	}
	for (size_t i = 0; i < n; i++)
		buf_bytes(b, rows[i].name, strlen(rows[i].name) + 1);
}

static void write_core(const void *bytes, size_t size)
{
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* What the core file tells, as a string, or the error; @words: of its diagnosis. */
static int read_core(struct text_buf *out, const char *words)
{
	struct gsym_diag diag = {""};
	text_reset(out);
	int err = core_maps_read(path, out, &diag);
	text_char(out, '\0');
	assert_non_null(strstr(diag.text, words));
	return err;
}

static const struct mapped_row files[] = {
	{0x1000, 0x3000, 0, "/bin/a"},
	{0x4000, 0x5000, 2, "/lib/b\nc"},
	{0x7000, 0x8000, 1, "/lib/dd"},
};

/* The file has segments, notes of another type, and the list; @ret_size: of the whole. */
static uint8_t *make_core(const struct core_kind *kind, const struct segment_row *rows, size_t n,
			  uint64_t count, size_t *ret_size)
{
	struct buf data = {.big = kind->big}, notes = {.big = kind->big}, b = {.big = kind->big};
	const struct segment_row note = {.type = PT_NOTE};
	struct core_kind with = *kind;
	with.n_segments = (uint16_t)(n + 1);
	put_files(&data, kind, files, sizeof(files) / sizeof(files[0]), count);
	put_note(&notes, 1, "odd", 3);
	put_note(&notes, NT_FILE_TYPE, data.bytes.v, data.bytes.n);
	put_header(&b, &with);
	uint64_t off = b.bytes.n + (n + 1) * (kind->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
	for (size_t i = 0; i < n; i++)
		put_segment(&b, kind, &rows[i], 0, 0);
	put_segment(&b, kind, &note, off, notes.bytes.n);
	buf_bytes(&b, notes.bytes.v, notes.bytes.n);
	buf_free(&data);
	buf_free(&notes);
	assert_true(buf_ok(&b));
	*ret_size = b.bytes.n;
	return (uint8_t *)b.bytes.v;
}

TEST(kinds)
{
	/* Only what a segment says is not executable is not; segments are in no order. */
	static const struct segment_row rows[] = {
		{PT_LOAD, PF_R, 0x4800, 0x1000},        {PT_LOAD, PF_R, 0x7000, 0x1000},
		{PT_LOAD, PF_R | PF_X, 0x1000, 0x2000}, {PT_NULL, PF_R, 0x4000, 0x1000},
		{PT_LOAD, PF_R, 0x3000, 0x1000},
	};
	struct text_buf out = {0};
	for (unsigned i = 0; i < 4; i++) {
		const struct core_kind kind = {.wide = i & 1, .big = i & 2, .type = ET_CORE};
		size_t size;
		uint8_t *core = make_core(&kind, rows, 5, 3, &size);
		write_core(core, size);
		assert_int_equal(read_core(&out, ""), 0);
		assert_string_equal(out.v, "1000-3000 r-xp 0 00:00 0 /bin/a\n"
					   "4000-5000 r-xp 2000 00:00 0 /lib/b?c\n"
					   "7000-8000 r--p 1000 00:00 0 /lib/dd\n");
		/* Cut anywhere, it is no core file, or damaged. */
		for (size_t cut = size; cut-- > 0;) {
			assert_int_equal(truncate(path, (off_t)cut), 0);
			assert_int_equal(read_core(&out, ""), -EBADMSG);
			assert_string_equal(out.v, "");
		}
		free(core);
	}
	text_deinit(&out);
}

/* A count that the note has no space for; with the fourth file the names of the others are its numbers. */
TEST(counts)
{
	const struct core_kind kind = {.wide = true, .type = ET_CORE};
	struct text_buf out = {0};
	static const struct {
		uint64_t count;
		int err;
	} counted[] = {{0, 0}, {1, 0}, {3, 0}, {4, 0}, {5, -EBADMSG}, {UINT64_MAX, -EBADMSG}};
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		size_t size;
		uint8_t *core = make_core(&kind, NULL, 0, counted[i].count, &size);
		write_core(core, size);
		free(core);
		assert_int_equal(read_core(&out, ""), counted[i].err);
		assert_int_equal(out.v[0] != 0, counted[i].count == 1 || counted[i].count == 3);
	}
	text_deinit(&out);
}

/* Headers of what is no core file, and one whose notes have no list. */
TEST(others)
{
	static const char no_core[] = "not an ELF core file, or truncated";
	struct core_kind kind = {.wide = true, .type = ET_CORE};
	struct text_buf out = {0};
	for (unsigned i = 0; i < 3; i++) {
		struct buf b = {.big = false};
		kind.type = i == 1 ? ET_EXEC : ET_CORE;
		kind.no_magic = i == 2;
		put_header(&b, &kind);
		write_core(b.bytes.v, b.bytes.n);
		buf_free(&b);
		assert_int_equal(read_core(&out, i ? no_core : "NT_FILE"), i ? -EBADMSG : -ENOENT);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(read_core(&out, ""), -ENOENT);
	text_deinit(&out);
}

/* Segments of notes that are too short for what is in them, and a path that is no file. */
TEST(short_notes)
{
	const struct core_kind kind = {.wide = true, .type = ET_CORE, .n_segments = 1};
	const struct segment_row row = {.type = PT_NOTE};
	struct text_buf out = {0};
	static const struct {
		uint32_t name, data, type, more;
		int err;
	} notes[] = {
		{0, 0, NT_FILE_TYPE, 0, 0},      {0, 0, 1, 0, -ENOENT},
		{0, 1, 1, 0, -EBADMSG},          {0, 4, 1, 4, -ENOENT},
		{0, 5, 1, 4, -EBADMSG},          {4, 1, 1, 4, -EBADMSG},
		{1, 4, 1, 8, -ENOENT},           {0, 100, NT_FILE_TYPE, 0, -EBADMSG},
		{UINT32_MAX, 1, 1, 8, -EBADMSG},
	};
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		struct buf b = {.big = false};
		put_header(&b, &kind);
		put_segment(&b, &kind, &row, b.bytes.n + sizeof(Elf64_Phdr), 12 + notes[i].more);
		buf_u32(&b, notes[i].name);
		buf_u32(&b, notes[i].data);
		buf_u32(&b, notes[i].type);
		buf_zeros(&b, notes[i].more);
		write_core(b.bytes.v, b.bytes.n);
		buf_free(&b);
		assert_int_equal(read_core(&out, ""), notes[i].err);
	}
	struct gsym_diag diag = {""};
	assert_int_equal(core_maps_read("/", &out, &diag), -EISDIR);
	assert_string_equal(diag.text, "");
	text_deinit(&out);
}

static int make_file(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

ALL_TESTS(make_file, remove_file)
