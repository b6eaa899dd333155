/* The DBI stream: what its header says, its modules, where its substreams begin, and what damage does. */
#include "tests/unit/convert/object/pdb/made_pdb.h"

#include "convert/object/pe/pe.h"

#include <errno.h>
#include <stdio.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

enum { HEADER_SIZE = 64, MODULE_SIZE = 64, SECTIONS_STREAM = 4 };

/* Substreams in the order of their bytes. */
enum {
	MODULES,
	CONTRIBUTIONS,
	SECTION_MAP,
	SOURCE_FILES,
	TYPE_SERVERS,
	EDIT_AND_CONTINUE,
	DEBUG_HEADER,
	SUBSTREAMS
};

/* Where the header has the size of each. */
static const size_t size_at[SUBSTREAMS] = {24, 28, 32, 36, 40, 52, 48};

#define DAMAGED  "made.pdb: the DBI stream (3) of the PDB is damaged"
#define OF_TYPES "made.pdb: a PDB of types alone, which a compiler wrote: not that of a program"

static struct made_stream *dbi_stream(struct made_pdb *m)
{
	m->n_streams = m->n_streams ? m->n_streams : SECTIONS_STREAM + 1;
	return &m->streams[PDB_STREAM_DBI];
}

/* A header of which every field is another number, and what is not read is not 0; without substreams. */
static void add_header(struct made_stream *s)
{
	made_fill(s, 0xee, HEADER_SIZE);
	store32(s->bytes, 0xffffffff, false);
	store32(s->bytes + 8, 0x01020304, false);
	store16(s->bytes + 16, 0x1112, false);
	store16(s->bytes + 20, 0x2122, false);
	for (size_t i = 0; i < SUBSTREAMS; i++)
		store32(s->bytes + size_at[i], 0, false);
	store16(s->bytes + 58, IMAGE_FILE_MACHINE_AMD64, false);
}

static void set_size(struct made_stream *s, size_t which, uint32_t size)
{
	store32(s->bytes + size_at[which], size, false);
}

static void add_module(struct made_stream *s, uint16_t stream, uint32_t symbols, uint32_t c11, uint32_t c13,
		       const char *name, const char *object)
{
	size_t begin = s->n - HEADER_SIZE;
	made_fill(s, 0xdd, 34);
	made_u16(s, stream);
	made_u32(s, symbols);
	made_u32(s, c11);
	made_u32(s, c13);
	made_fill(s, 0xcc, 16);
	assert_int_equal(s->n - HEADER_SIZE - begin, MODULE_SIZE);
	made_text(s, name);
	made_text(s, object);
	while ((s->n - HEADER_SIZE) % 4)
		made_fill(s, 0xbb, 1);
}

/* A section header; @s becomes that stream. */
static void add_section(struct made_stream *s, const char name[static 8], uint32_t size, uint32_t rva)
{
	made_bytes(s, name, 8);
	made_u32(s, size);
	made_u32(s, rva);
	made_fill(s, 0, 20);
	made_u32(s, 0x60000020); /* code */
}

/* The list of further streams: only that with the section headers. */
static void add_debug_header(struct made_stream *s)
{
	for (int i = 0; i < 5; i++)
		made_u16(s, STREAM_NONE);
	made_u16(s, SECTIONS_STREAM);
}

/* ---- The header ---- */

static int read_header(struct made_pdb *m, char text[static 256])
{
	struct gsym_diag diag = {""};
	struct object_file *o = made_pdb_open(m);
	long before = live;
	pdb_of(o)->age = 77;
	pdb_of(o)->machine = 78;
	strcpy(o->arch, "none");
	int err = pdb_read_dbi_header(o, &diag);
	assert_int_equal(live, before);
	snprintf(text, 256, "%.255s", diag.text);
	if (err) {
		assert_int_equal(pdb_of(o)->age, 77);
		assert_int_equal(pdb_of(o)->machine, 78);
		assert_string_equal(o->arch, "none");
	}
	return err;
}

TEST(header_fields)
{
	static const struct {
		uint16_t machine;
		const char *arch;
	} cases[] = {
		{IMAGE_FILE_MACHINE_AMD64, "x86_64"},
		{IMAGE_FILE_MACHINE_I386, "i386"},
		{IMAGE_FILE_MACHINE_ARM64, "aarch64"},
		{IMAGE_FILE_MACHINE_ARM64EC, "x86_64"},
		{IMAGE_FILE_MACHINE_ARM64X, "aarch64"},
		{IMAGE_FILE_MACHINE_ARMNT, "arm"},
		{0x1234, "pe-1234"},
		{0, "pe-0"},
		{0xffff, "pe-ffff"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made_pdb m = {.block_size = 0};
		char text[256];
		add_header(dbi_stream(&m));
		store16(dbi_stream(&m)->bytes + 58, cases[i].machine, false);
		assert_int_equal(read_header(&m, text), 0);
		assert_string_equal(text, "");
		const struct pdb *pdb = pdb_of(&m.object);
		assert_int_equal(pdb->age, 0x01020304);
		assert_int_equal(pdb->publics_stream, 0x1112);
		assert_int_equal(pdb->symbols_stream, 0x2122);
		assert_int_equal(pdb->machine, cases[i].machine);
		assert_string_equal(m.object.arch, cases[i].arch);
		assert_false(pdb->loaded);
		made_pdb_close(&m);
	}
}

/* Compilers write no DBI stream, or an empty one. */
TEST(no_program)
{
	enum { EMPTY, GONE, NOT_LISTED, CASES };
	for (int k = 0; k < CASES; k++) {
		struct made_pdb m = {.n_streams = k == NOT_LISTED ? PDB_STREAM_DBI : 0};
		char text[256];
		dbi_stream(&m)->gone = k == GONE;
		assert_int_equal(read_header(&m, text), -ENOEXEC);
		assert_string_equal(text, OF_TYPES);
		made_pdb_close(&m);
	}
}

TEST(damaged_header)
{
	for (size_t size = 1; size <= HEADER_SIZE; size++) {
		struct made_pdb m = {.block_size = 0};
		char text[256];
		add_header(dbi_stream(&m));
		dbi_stream(&m)->n = size;
		assert_int_equal(read_header(&m, text), size < HEADER_SIZE ? -EBADMSG : 0);
		assert_string_equal(text, size < HEADER_SIZE ? DAMAGED : "");
		made_pdb_close(&m);
	}
	for (size_t bit = 0; bit < 32; bit++) {
		struct made_pdb m = {.block_size = 0};
		char text[256];
		add_header(dbi_stream(&m));
		dbi_stream(&m)->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(read_header(&m, text), -EBADMSG);
		assert_string_equal(text, DAMAGED);
		made_pdb_close(&m);
	}
	struct made_pdb m = {.block_size = 0};
	char text[256];
	add_header(dbi_stream(&m));
	made_pdb_finish(&m);
	store32(made_directory(&m) + 4 + 4 * (size_t)m.n_streams, 1000, false); /* its block */
	assert_int_equal(read_header(&m, text), -EBADMSG);
	assert_string_equal(text, DAMAGED);
	made_pdb_close(&m);
}

/* ---- Modules ---- */

struct module_case {
	uint16_t stream;
	uint32_t symbols, c11, c13;
	const char *name, *object;
};

/* Names of any length, so that any padding follows. */
static const struct module_case module_cases[] = {
	{10, 0x11111111, 0x22222222, 0x33333333, "a.obj", "a.lib"},
	{STREAM_NONE, 0, 0, 0, "* Linker *", ""},
	{0, 4, 0, UINT32_MAX, "", "x"},
	{0xfffe, UINT32_MAX, 1, 2, "", ""},
	{12, 5, 6, 7, "C:\\a directory\\of a\\name that is longer than its record.obj", "kernel32.lib"},
	{13, 8, 9, 10, "b", "cc"},
	{14, 8, 9, 10, "b", "ccc"},
	{15, 8, 9, 10, "b", "cccc"},
};

static void add_modules(struct made_stream *s)
{
	size_t begin = s->n;
	for (size_t i = 0; i < ARRAY_SIZE(module_cases); i++) {
		const struct module_case *c = &module_cases[i];
		add_module(s, c->stream, c->symbols, c->c11, c->c13, c->name, c->object);
	}
	set_size(s, MODULES, (uint32_t)(s->n - begin));
}

static void assert_modules(const struct pdb *pdb, size_t n)
{
	assert_int_equal(pdb->modules.n, n);
	for (size_t i = 0; i < n; i++) {
		const struct pdb_module *got = &pdb->modules.v[i];
		const struct module_case *want = &module_cases[i];
		assert_int_equal(got->stream, want->stream);
		assert_int_equal(got->symbol_bytes, want->symbols);
		assert_int_equal(got->c11_bytes, want->c11);
		assert_int_equal(got->c13_bytes, want->c13);
		assert_string_equal(got->name, want->name);
	}
}

/* Loads @m, which is closed by the caller. */
static int load(struct made_pdb *m, char text[static 256])
{
	struct gsym_diag diag = {""};
	struct object_file *o = made_pdb_open(m);
	int err = pdb_load(o, &diag);
	snprintf(text, 256, "%.255s", diag.text);
	assert_int_equal(pdb_of(o)->loaded, !err);
	return err;
}

TEST(all_modules)
{
	for (int scattered = 0; scattered < 2; scattered++) {
		struct made_pdb m = {.scattered = scattered};
		char text[256];
		long before = live;
		add_header(dbi_stream(&m));
		add_modules(dbi_stream(&m));
		assert_int_equal(load(&m, text), 0);
		assert_string_equal(text, "");
		assert_modules(pdb_of(&m.object), ARRAY_SIZE(module_cases));
		assert_int_equal(pdb_of(&m.object)->module_bytes.copy != NULL, scattered);
		/* Nothing happens the second time. */
		const void *modules = pdb_of(&m.object)->modules.v;
		assert_int_equal(pdb_load(&m.object, NULL), 0);
		assert_modules(pdb_of(&m.object), ARRAY_SIZE(module_cases));
		assert_ptr_equal(pdb_of(&m.object)->modules.v, modules);
		made_pdb_close(&m);
		assert_int_equal(live, before);
	}
}

/* Cut anywhere: the records before are there, less than one is passed over, and one that is cut is told. */
TEST(cut_modules)
{
	enum { NAMES = 6 }; /* bytes of "ab" and "cd" with their NULs */
	static const struct {
		size_t size, n;
		bool cut;
	} cases[] = {
		{0, 0, false},
		{1, 0, false},
		{MODULE_SIZE - 1, 0, false},
		{MODULE_SIZE, 0, true},          /* no name */
		{MODULE_SIZE + 2, 0, true},      /* no NUL */
		{MODULE_SIZE + 3, 0, true},      /* no object file */
		{MODULE_SIZE + 5, 0, true},      /* no NUL */
		{MODULE_SIZE + NAMES, 1, false}, /* no padding */
		{MODULE_SIZE + NAMES + 1, 1, false},
		{MODULE_SIZE + NAMES + 2, 1, false},
		{2 * MODULE_SIZE + NAMES + 1, 1, false},
		{2 * MODULE_SIZE + NAMES + 2, 1, true},
		{2 * (MODULE_SIZE + NAMES + 2) - 1, 2, false},
		{2 * (MODULE_SIZE + NAMES + 2), 2, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made_pdb m = {.block_size = 0};
		struct made_stream *s = dbi_stream(&m);
		char text[256];
		long before = live;
		add_header(s);
		add_module(s, 1, 2, 3, 4, "ab", "cd");
		add_module(s, 5, 6, 7, 8, "ef", "gh");
		set_size(s, MODULES, (uint32_t)cases[i].size);
		assert_int_equal(load(&m, text), 0);
		assert_int_equal(pdb_of(&m.object)->modules_cut, cases[i].cut);
		assert_int_equal(pdb_of(&m.object)->modules.n, cases[i].n);
		made_pdb_close(&m);
		assert_int_equal(live, before);
	}
}

/* ---- Substreams ---- */

static void add_sections(struct made_pdb *m)
{
	add_section(&m->streams[SECTIONS_STREAM], ".text\0\0", 0x500, 0x1000);
	add_section(&m->streams[SECTIONS_STREAM], "PAGE\0\0\0", 0x600, 0x2000);
}

static void assert_sections(const struct object_file *o, size_t n)
{
	assert_int_equal(pdb_of(o)->sections.n, n);
	assert_int_equal(o->sections.n, n);
	if (!n)
		return;
	assert_string_equal(pdb_of(o)->sections.v[0].name, ".text");
	assert_string_equal(pdb_of(o)->sections.v[1].name, "PAGE");
	assert_int_equal(o->text.n, 2);
	assert_int_equal(o->text.v[1].lo, 0x2000);
	assert_int_equal(o->text.v[1].hi, 0x2600);
}

/* The last substream is found behind all others, whichever of them there are. */
TEST(order_of_substreams)
{
	for (unsigned set = 0; set < 1 << DEBUG_HEADER; set++) {
		struct made_pdb m = {.block_size = 0};
		struct made_stream *s = dbi_stream(&m);
		char text[256];
		add_header(s);
		if (set & 1)
			add_modules(s);
		for (unsigned i = CONTRIBUTIONS; i < DEBUG_HEADER; i++) {
			uint32_t size = set >> i & 1 ? 3 + 7 * i : 0;
			made_fill(s, (uint8_t)(0x30 + i), size);
			set_size(s, i, size);
		}
		set_size(s, DEBUG_HEADER, 12);
		add_debug_header(s);
		made_fill(s, 0x99, set % 3); /* what follows is no part of it */
		add_sections(&m);
		assert_int_equal(load(&m, text), 0);
		assert_modules(pdb_of(&m.object), set & 1 ? ARRAY_SIZE(module_cases) : 0);
		assert_sections(&m.object, 2);
		assert_int_equal(pdb_load(&m.object, NULL), 0);
		assert_sections(&m.object, 2);
		made_pdb_close(&m);
	}
}

/* One that ends before the index of the section headers does not list them. */
TEST(short_debug_header)
{
	for (uint32_t size = 0; size <= 12; size++) {
		struct made_pdb m = {.block_size = 0};
		struct made_stream *s = dbi_stream(&m);
		char text[256];
		add_header(s);
		add_modules(s);
		set_size(s, DEBUG_HEADER, size);
		add_debug_header(s);
		add_sections(&m);
		assert_int_equal(load(&m, text), 0);
		assert_sections(&m.object, size < 12 ? 0 : 2);
		made_pdb_close(&m);
	}
}

struct size_case {
	size_t which;
	uint32_t size;
	size_t other; /* SUBSTREAMS: none */
	uint32_t other_size;
};

/* The stream has 12 bytes after its header, which are those of the debug header. */
static const struct size_case size_cases[] = {
	{MODULES, 13, SUBSTREAMS, 0},
	{MODULES, UINT32_MAX, SUBSTREAMS, 0},
	{MODULES, UINT32_MAX - 63, SUBSTREAMS, 0},
	{MODULES, 1, SUBSTREAMS, 0}, /* moves the debug header past the end */
	{CONTRIBUTIONS, 1, SUBSTREAMS, 0},
	{CONTRIBUTIONS, UINT32_MAX, SUBSTREAMS, 0},
	{SECTION_MAP, UINT32_MAX, SUBSTREAMS, 0},
	{SOURCE_FILES, 0x80000000, SUBSTREAMS, 0},
	{TYPE_SERVERS, UINT32_MAX, SUBSTREAMS, 0},
	{EDIT_AND_CONTINUE, UINT32_MAX, SUBSTREAMS, 0},
	{DEBUG_HEADER, 13, SUBSTREAMS, 0},
	{DEBUG_HEADER, UINT32_MAX, SUBSTREAMS, 0},
	/* Sums that are 0 in 32 bits. */
	{CONTRIBUTIONS, UINT32_MAX, SECTION_MAP, 1},
	{SECTION_MAP, 0x80000000, TYPE_SERVERS, 0x80000000},
	{SOURCE_FILES, 0xfffffff0, EDIT_AND_CONTINUE, 0x10},
	{EDIT_AND_CONTINUE, UINT32_MAX, DEBUG_HEADER, 1},
	/* That is past the end of the stream, also if it is empty. */
	{CONTRIBUTIONS, 13, DEBUG_HEADER, 0},
};

TEST(impossible_sizes)
{
	for (size_t i = 0; i < ARRAY_SIZE(size_cases); i++)
		for (int scattered = 0; scattered < 2; scattered++) {
			const struct size_case *c = &size_cases[i];
			struct made_pdb m = {.scattered = scattered};
			struct made_stream *s = dbi_stream(&m);
			char text[256];
			long before = live;
			add_header(s);
			set_size(s, DEBUG_HEADER, 12);
			add_debug_header(s);
			add_sections(&m);
			set_size(s, c->which, c->size);
			if (c->other < SUBSTREAMS)
				set_size(s, c->other, c->other_size);
			if (load(&m, text) != -EBADMSG || strcmp(text, DAMAGED))
				fail_msg("case %zu: %s", i, text);
			assert_int_equal(m.object.sections.n, 0);
			made_pdb_close(&m);
			assert_int_equal(live, before);
		}
}

/* ---- Loading ---- */

/* Damage elsewhere: in the directory, in the header, which may change after it was read, in the sections. */
TEST(damage_elsewhere)
{
	enum { DIRECTORY, SIGNATURE, NO_STREAM, SECTIONS, CASES };
	static const char *const want[] = {
		"made.pdb: the directory of the PDB is damaged", DAMAGED, DAMAGED,
		"made.pdb: section headers or address maps of the PDB are damaged"};
	static const int errs[] = {-EBADMSG, -EBADMSG, -ENOENT, -EBADMSG};
	for (int k = 0; k < CASES; k++) {
		struct made_pdb m = {.block_size = 0};
		struct made_stream *s = dbi_stream(&m);
		char text[256];
		long before = live;
		add_header(s);
		s->bytes[0] = k == SIGNATURE ? 0 : 0xff;
		set_size(s, DEBUG_HEADER, 12);
		add_debug_header(s);
		add_sections(&m);
		s->n = k == NO_STREAM ? 0 : s->n;
		made_pdb_finish(&m);
		uint8_t *directory = made_directory(&m), *blocks = directory + 4 + 4 * (size_t)m.n_streams;
		if (k == DIRECTORY)
			store32(directory + 4, 0x7fffffff, false);
		if (k == SECTIONS)
			store32(blocks + 4, 1000, false);
		assert_int_equal(load(&m, text), errs[k]);
		assert_string_equal(text, want[k]);
		assert_int_equal(m.object.sections.n, 0);
		made_pdb_close(&m);
		assert_int_equal(live, before);
	}
}

/* Whichever allocation fails, the error is that, and all is freed. */
TEST(no_memory)
{
	long before = live, n = 0;
	for (int err = -ENOMEM; err; n++) {
		struct made_pdb m = {.scattered = true};
		struct made_stream *s = dbi_stream(&m);
		struct gsym_diag diag = {""};
		add_header(s);
		add_modules(s);
		made_fill(s, 0, 1020 - s->n); /* so that the debug header is in two blocks */
		set_size(s, CONTRIBUTIONS, (uint32_t)(1020 - HEADER_SIZE) - load32(s->bytes + 24, false));
		set_size(s, DEBUG_HEADER, 12);
		add_debug_header(s);
		add_sections(&m);
		made_pdb_open(&m);
		allowed = n;
		err = pdb_load(&m.object, &diag);
		allowed = -1;
		assert_int_equal(err, err ? -ENOMEM : 0);
		assert_string_equal(diag.text, err ? "made.pdb: out of memory" : "");
		assert_int_equal(pdb_of(&m.object)->loaded, !err);
		if (!err) {
			assert_modules(pdb_of(&m.object), ARRAY_SIZE(module_cases));
			assert_sections(&m.object, 2);
		}
		made_pdb_close(&m);
		assert_int_equal(live, before);
	}
	assert_true(n > 5);
}
