/* PE files: headers, and the tables that name and bound code, whose bytes are made here. */
#include "convert/object/object_open.h"
#include "convert/object/pe/pe.h"
#include "convert/object/source_format.h"

#include "gsym/base/diag.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

enum {
	BASE = 0x400000,
	RVA = 0x1000,
	CODE_RVA = 0x1000,
	CODE_SIZE = 0x800,
	TABLES_RVA = 0x1800,
	SIZE = 0x2000
};

/* An image with one piece at RVA: its code, then tables. */
struct image {
	uint8_t bytes[SIZE];
	size_t n; /* where the next table goes */
	struct pe pe;
	struct pe_piece piece;
	struct range text;
	struct object_section sections[3];
	struct object_file object;
};

static struct image *new_image(uint16_t machine)
{
	struct image *i = calloc(1, sizeof(*i));
	assert_non_null(i);
	i->n = TABLES_RVA - RVA;
	i->piece = (struct pe_piece){RVA, {i->bytes, SIZE}};
	i->pe.machine = machine;
	i->pe.pieces.v = &i->piece;
	i->pe.pieces.n = 1;
	i->text = (struct range){BASE + CODE_RVA, BASE + CODE_RVA + CODE_SIZE};
	i->sections[0] = (struct object_section){
		.addr = BASE + CODE_RVA, .size = CODE_SIZE, .raw = {i->bytes, CODE_SIZE}, .code = true};
	i->sections[1] = (struct object_section){.addr = BASE + TABLES_RVA, .size = 0x1800};
	i->sections[2] = i->sections[0];
	i->object = (struct object_file){.own = &i->pe,
					 .format = &pe_format,
					 .map = i->bytes,
					 .map_size = SIZE,
					 .base_address = BASE,
					 .addr_size = machine == IMAGE_FILE_MACHINE_I386 ||
								      machine == IMAGE_FILE_MACHINE_ARMNT ||
								      machine == IMAGE_FILE_MACHINE_THUMB
							      ? 4
							      : 8,
					 .text = {&i->text, 1, 1},
					 .sections = {i->sections, 3, 3}};
	return i;
}

static void free_image(struct image *i)
{
	vec_free(&i->object.symbols);
	vec_free(&i->object.functions);
	arena_free(&i->object.names);
	free(i);
}

/* The address, from the image's base, of bytes appended to the tables. */
static uint32_t put_bytes(struct image *i, const void *bytes, size_t n)
{
	assert_true(i->n + n <= SIZE);
	memcpy(i->bytes + i->n, bytes, n);
	i->n += n;
	return (uint32_t)(RVA + i->n - n);
}

static uint32_t put32(struct image *i, uint64_t v)
{
	uint8_t b[4];
	store32(b, (uint32_t)v, false);
	return put_bytes(i, b, 4);
}

static uint32_t put16(struct image *i, unsigned v)
{
	uint8_t b[2];
	store16(b, (uint16_t)v, false);
	return put_bytes(i, b, 2);
}

/* "rva+size name", marks after it: g global, n no function, t stub. */
static void assert_symbols(const struct object_file *o, const char *want)
{
	static const char *const marks[] = {[SYMBOL_FUNC] = "", [SYMBOL_NOTYPE] = " n", [SYMBOL_STUB] = " t"};
	char text[4096] = "";
	for (size_t i = 0; i < o->symbols.n; i++) {
		const struct symbol *s = &o->symbols.v[i];
		size_t n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%s%llx+%llx %s%s%s", i ? "; " : "",
			 (unsigned long long)(s->addr - BASE), (unsigned long long)s->size, s->name,
			 s->global ? " g" : "", marks[s->type]);
	}
	assert_string_equal(text, want);
}

/* ---- Bytes by address ---- */

TEST(pieces)
{
	static uint8_t bytes[300];
	struct pe_piece v[] = {{100, {bytes, 50}}, {140, {bytes + 50, 10}}, {200, {bytes + 100, 100}}};
	struct pe pe = {.pieces = {v, 3, 3}, .directories = {{150, 5}, {0, 10}, {290, 20}, {210, 7}}};
	struct object_file o = {.format = &pe_format, .own = &pe};
	struct name_budget budget = name_budget_of(1);
	for (uint64_t rva = 0; rva < 400; rva++) {
		const struct pe_piece *p = rva >= 200   ? &v[2]
					   : rva >= 140 ? &v[1]
					   : rva >= 100 ? &v[0]
							: NULL;
		bool has = p && rva < p->rva + p->bytes.size;
		struct span s = pe_bytes(&o, rva);
		assert_ptr_equal(s.data, has ? p->bytes.data + (rva - p->rva) : NULL);
		assert_int_equal(s.size, has ? p->rva + p->bytes.size - rva : 0);
	}
	assert_int_equal(pe_directory_bytes(&o, 0).size, 0);
	assert_int_equal(pe_directory_bytes(&o, 1).size, 0);
	assert_ptr_equal(pe_directory_bytes(&o, 2).data, bytes + 190);
	assert_int_equal(pe_directory_bytes(&o, 2).size, 10);
	assert_int_equal(pe_directory_bytes(&o, 3).size, 7);
	/* Texts that end, as many as the budget of 8 bytes has. */
	memset(bytes + 190, 'x', 10);
	memcpy(bytes + 100, "abc\0defghi", 11);
	assert_null(pe_text(&o, 190, &budget));
	assert_null(pe_text(&o, 290, &(struct name_budget){.left = 100}));
	assert_ptr_equal(pe_text(&o, 200, &budget), bytes + 100);
	assert_ptr_equal(pe_text(&o, 202, &budget), bytes + 102);
	assert_null(pe_text(&o, 204, &budget));
}

/* ---- Names ---- */

TEST(plain_names)
{
	static const struct {
		const char *name, *want;
	} table[] = {
		{"_cdecl", "cdecl"},
		{"_std@8", "std"},
		{"@fast@12", "fast"},
		{"vector@@16", "vector"},
		{"?cpp@@YAXXZ", "?cpp@@YAXXZ"},
		{"?f@4", "?f@4"},
		{"plain", "plain"},
		{"a@b", "a@b"},
		{"a@", "a@"},
		{"_", ""},
		{"@", ""},
		{"", ""},
		{"@4", ""},
		{"_@4", ""},
		{"a@4b", "a@4b"},
		{"__x", "_x"},
		{"4", "4"},
		{"44", "44"},
		{"x@@", "x@@"},
		{"@@4", ""},
		{"_@@4", ""},
		{"x@0", "x"},
		{"x@9", "x"},
		{"x@:", "x@:"},
		{"x@/", "x@/"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		for (int is_text = 0; is_text < 2; is_text++) {
			struct object_file o = {0};
			size_t size = strlen(table[i].name);
			char *exact = malloc(size + 1);
			memcpy(exact, table[i].name, size + 1);
			if (!is_text && size)
				exact[size] = '7';
			const char *got = coff_plain_name(&o, IMAGE_FILE_MACHINE_I386, exact, size, is_text);
			assert_string_equal(got, table[i].want);
			bool suffix = *got && !strcmp(table[i].name + size - strlen(got), got);
			assert_int_equal(got >= exact && got < exact + size, is_text && suffix);
			got = coff_plain_name(&o, IMAGE_FILE_MACHINE_AMD64, exact, size, is_text);
			assert_string_equal(got, table[i].name);
			arena_free(&o.names);
			free(exact);
		}
}

/* ---- The symbol table ---- */

struct coff {
	const char *name;
	uint32_t value;
	int16_t section;
	uint16_t type;
	uint8_t class, n_aux;
};

static void put_coff(struct image *i, const struct coff *v, size_t n)
{
	uint32_t at = (uint32_t)i->n;
	char strings[500];
	size_t n_strings = 4;
	i->pe.n_symbols = 0;
	for (size_t k = 0; k < n; k++) {
		char field[8] = "";
		size_t size = strlen(v[k].name);
		if (size > 8) {
			store32((uint8_t *)field + 4, (uint32_t)n_strings, false);
			memcpy(strings + n_strings, v[k].name, size + 1);
			n_strings += size + 1;
		} else {
			memcpy(field, v[k].name, size);
		}
		put_bytes(i, field, 8);
		put32(i, v[k].value);
		put16(i, (uint16_t)v[k].section);
		put16(i, v[k].type);
		put_bytes(i, &v[k].class, 1);
		put_bytes(i, &v[k].n_aux, 1);
		for (unsigned a = 0; a < v[k].n_aux; a++)
			put_bytes(i, "aux\0\0\0\0\0\0\0\0\0\1\0\x20\0\2\0", 18);
		i->pe.n_symbols += 1U + v[k].n_aux;
	}
	i->pe.symbols = (struct span){i->bytes + at, 18 * (size_t)i->pe.n_symbols};
	store32((uint8_t *)strings, (uint32_t)n_strings, false);
	at = (uint32_t)i->n;
	put_bytes(i, strings, n_strings);
	i->pe.strings = (struct span){i->bytes + at, n_strings};
}

TEST(coff_symbols)
{
	static const struct coff table[] = {
		{"ext", 0x10, 1, 0x20, 2, 0},          {"weak", 0x20, 1, 0, 105, 0},
		{"static", 0x30, 1, 0x20, 3, 1},       {".text", 0, 1, 0, 3, 1},
		{"plain", 0x40, 1, 0, 3, 0},           {"label", 0x50, 1, 0, 6, 0},
		{"file", 0x60, 1, 0, 103, 2},          {"none", 0x60, 0, 0x20, 2, 0},
		{"abs", 0x60, -1, 0x20, 2, 0},         {"data", 0, 2, 0x20, 2, 0},
		{"last", 0x7ff, 3, 0x20, 2, 0},        {"past", 0x800, 1, 0x20, 2, 0},
		{"nosect", 0x60, 4, 0x20, 2, 0},       {".local", 0x60, 1, 0, 6, 0},
		{".func", 0x68, 1, 0x20, 2, 0},        {"", 0x60, 1, 0x20, 2, 0},
		{"eight_ch", 0x70, 1, 0x24, 2, 0},     {"a_name_that_is_long", 0x78, 1, 0x20, 2, 0},
		{"array", 0x80, 1, 0x30, 2, 0},        {"pointer", 0x88, 1, 0x10, 2, 0},
		{"static_array", 0x90, 1, 0x30, 3, 1},
	};
	for (int source = 0; source < 2; source++) {
		struct image *i = new_image(IMAGE_FILE_MACHINE_AMD64),
			     *from = new_image(IMAGE_FILE_MACHINE_AMD64);
		struct object_file elf = {0}, *sources[] = {&elf, source ? &from->object : &i->object};
		put_coff(source ? from : i, table, ARRAY_SIZE(table));
		assert_int_equal(pe_load_symbols(&i->object, sources, 2), 0);
		assert_symbols(
			&i->object,
			"1010+0 ext g; 1020+0 weak g n; 1030+0 static; 1040+0 plain n; 1050+0 label n; "
			"17ff+0 last g; 1068+0 .func g; 1070+0 eight_ch g; "
			"1078+0 a_name_that_is_long g; 1080+0 array g n; 1088+0 pointer g n");
		assert_false(i->object.symbols_damaged);
		assert_false(i->object.names_exceeded);
		assert_true(i->object.name_bytes);
		/* The first table with symbols is enough. */
		if (source) {
			struct object_file *both[] = {&from->object, &i->object};
			size_t n = i->object.symbols.n;
			put_coff(i, table, 1);
			i->object.symbols.n = 0;
			assert_int_equal(pe_load_symbols(&i->object, both, 2), 0);
			assert_int_equal(i->object.symbols.n, n);
			i->object.symbols.n = 0;
			from->pe.symbols.size = 17;
			assert_int_equal(pe_load_symbols(&i->object, both, 2), 0);
			assert_symbols(&i->object, "1010+0 ext g");
		}
		free_image(from);
		free_image(i);
	}
	struct image *i = new_image(IMAGE_FILE_MACHINE_AMD64);
	i->pe.n_symbols = 1;
	assert_int_equal(pe_load_symbols(&i->object, &(struct object_file *){&i->object}, 1), 0);
	assert_true(i->object.symbols_damaged);
	free_image(i);
}

/* Offsets of names, which the first four bytes of the strings are not. */
TEST(long_names)
{
	static const struct {
		uint32_t off;
		const char *want;
	} table[] = {{0, ""},  {3, ""},  {4, "1010+0 abc g"}, {6, "1010+0 c g"}, {7, ""}, {8, "1010+0 d g"},
		     {10, ""}, {11, ""}, {UINT32_MAX, ""}};
	for (size_t t = 0; t < ARRAY_SIZE(table); t++) {
		struct image *i = new_image(IMAGE_FILE_MACHINE_AMD64);
		put_coff(i, &(struct coff){"x", 0x10, 1, 0x20, 2, 0}, 1);
		uint8_t *field = (uint8_t *)(uintptr_t)i->pe.symbols.data;
		store32(field, 0, false);
		store32(field + 4, table[t].off, false);
		uint32_t at = put_bytes(i, "\x41\x42\x43\0abc\0d\0", 10);
		i->pe.strings = (struct span){i->bytes + (at - RVA), 10};
		assert_int_equal(pe_load_symbols(&i->object, &(struct object_file *){&i->object}, 1), 0);
		assert_symbols(&i->object, table[t].want);
		free_image(i);
	}
}

/* All names together may have eight times the bytes of both tables. */
TEST(shared_names)
{
	struct coff table[40];
	char name[200];
	struct image *i = new_image(IMAGE_FILE_MACHINE_AMD64);
	memset(name, 'x', 199);
	name[199] = 0;
	for (size_t k = 0; k < 40; k++)
		table[k] = (struct coff){"", (uint32_t)k, 1, 0x20, 2, 0};
	put_coff(i, table, 40);
	uint32_t at = put_bytes(i, "\xcc\0\0\0", 4);
	put_bytes(i, name, 200);
	i->pe.strings = (struct span){i->bytes + (at - RVA), 204};
	for (size_t k = 0; k < 40; k++)
		store32((uint8_t *)(uintptr_t)i->pe.symbols.data + 18 * k + 4, 4, false);
	assert_int_equal(pe_load_symbols(&i->object, &(struct object_file *){&i->object}, 1), 0);
	assert_int_equal(i->object.symbols.n, (40 * 18 + 204) * 8 / 200);
	assert_true(i->object.names_exceeded);
	assert_int_equal(i->object.name_bytes, (40 * 18 + 204) * 8);
	free_image(i);
}

TEST(thumb_addresses)
{
	static const uint16_t machines[] = {IMAGE_FILE_MACHINE_ARMNT, IMAGE_FILE_MACHINE_THUMB,
					    IMAGE_FILE_MACHINE_AMD64};
	for (size_t k = 0; k < ARRAY_SIZE(machines); k++) {
		struct image *i = new_image(machines[k]);
		assert_int_equal(pe_is_thumb(&i->object), k < 2);
		assert_int_equal(pe_add_symbol(&i->object, BASE + 0x1001, "f", SYMBOL_FUNC, false), 0);
		assert_int_equal(pe_add_symbol(&i->object, BASE + 0x1801, "g", SYMBOL_FUNC, false), 0);
		assert_int_equal(pe_add_symbol(&i->object, BASE + 0xfff, "h", SYMBOL_FUNC, false), 0);
		assert_symbols(&i->object, k < 2 ? "1000+0 f" : "1001+0 f");
		free_image(i);
	}
}

/* ---- Exports ---- */

TEST(exports)
{
	for (int known = 0; known < 2; known++) {
		struct image *i = new_image(IMAGE_FILE_MACHINE_AMD64);
		uint32_t a = put_bytes(i, "alpha", 6), b = put_bytes(i, "beta", 5),
			 none = put_bytes(i, "", 1);
		uint32_t functions = put32(i, 0x1010);
		put32(i, 0);
		put32(i, 0x1020);
		put32(i, 0x1900);
		uint32_t forward = put32(i, 0), last = put32(i, 0x17ff);
		uint32_t names = put32(i, a);
		put32(i, b);
		put32(i, a);
		put32(i, b);
		put32(i, none);
		put32(i, b);
		put32(i, b);
		put32(i, 0x7fffffff);
		uint32_t ordinals = put16(i, 0);
		static const uint16_t more[] = {1, 2, 3, 5, 4, 6, 0};
		for (size_t k = 0; k < ARRAY_SIZE(more); k++)
			put16(i, more[k]);
		uint32_t directory = put_bytes(i, "12345678901234567890", 20);
		put32(i, 6);
		put32(i, 8);
		put32(i, functions);
		put32(i, names);
		put32(i, ordinals);
		(void)last;
		i->pe.directories[DIRECTORY_EXPORT] = (struct pe_directory){directory, 60};
		store32(i->bytes + (forward - RVA), directory + 59, false);
		if (known)
			put_coff(i, &(struct coff){"known", 0x10, 1, 0x20, 2, 0}, 1);
		assert_int_equal(pe_load_symbols(&i->object, &(struct object_file *){&i->object}, 1), 0);
		assert_symbols(&i->object,
			       known ? "1010+0 known g; 1020+0 alpha g" : "1010+0 alpha g; 1020+0 alpha g");
		/* A function in the directory is another file's; the text may be anywhere. */
		i->text.hi = BASE + 0x3000;
		i->object.symbols.n = 0;
		assert_int_equal(pe_load_symbols(&i->object, NULL, 0), 0);
		assert_symbols(&i->object, "1010+0 alpha g; 1020+0 alpha g; 1900+0 beta g");
		free_image(i);
	}
}

/* ---- Unwind data ---- */

static void assert_functions(const struct image *i, const char *want)
{
	range_vec got = {0};
	char text[1000] = "";
	assert_int_equal(pe_list_functions(&i->object, &got, &(struct damaged_entries){0}), 0);
	for (size_t k = 0; k < got.n; k++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%llx-%llx", k ? " " : "",
			 (unsigned long long)(got.v[k].lo - BASE), (unsigned long long)(got.v[k].hi - BASE));
	assert_string_equal(text, want);
	vec_free(&got);
}

/* Unwind information with @codes of two bytes; chained to another entry if @begin is not 0. */
static uint32_t put_unwind(struct image *i, unsigned codes, uint32_t begin, uint32_t end, uint32_t unwind)
{
	uint32_t at = put_bytes(i, (uint8_t[]){(uint8_t)(begin ? 0x21 : 0x19), 0, (uint8_t)codes, 0}, 4);
	for (unsigned k = 0; k < (codes + 1) / 2 * 2; k++)
		put16(i, 0xeeee);
	if (begin) {
		put32(i, begin);
		put32(i, end);
		put32(i, unwind);
	}
	return at;
}

static void put_functions(struct image *i, const uint32_t *v, size_t n)
{
	uint32_t at = (uint32_t)(RVA + i->n);
	for (size_t k = 0; k < n; k++)
		put32(i, v[k]);
	i->pe.directories[DIRECTORY_EXCEPTION] = (struct pe_directory){at, (uint32_t)(4 * n)};
}

TEST(x64_functions)
{
	struct image *i = new_image(IMAGE_FILE_MACHINE_AMD64);
	uint32_t plain = put_unwind(i, 3, 0, 0, 0), chained[4];
	for (unsigned codes = 0; codes < 4; codes++)
		chained[codes] = put_unwind(i, codes, 0x1100, 0x1110, plain);
	uint32_t twice = put_unwind(i, 1, 0x1110, 0x1120, chained[3]);
	const uint32_t v[] = {
		0x1000, 0x1010, plain,      0x1010, 0x1020, plain,      /* two functions */
		0x1100, 0x1110, plain,      0x1110, 0x1120, chained[0], /* parts of one */
		0x1120, 0x1130, chained[1], 0x1130, 0x1140, chained[2], 0x1140, 0x1150, chained[3],
		0x1150, 0x1160, twice,      0x1170, 0x1180, twice, /* elsewhere */
		0x1200, 0x1200, plain,      0x1210, 0x1208, plain, /* empty */
		0x0ff0, 0x1010, plain,      0x17ff, 0x1900, plain,      0x1800, 0x1900, plain,
		0x1300, 0x1310, 0,          0x1050, 0x1060, plain,      0x1050, 0x1058, plain};
	put_functions(i, v, ARRAY_SIZE(v));
	assert_functions(i,
			 "1000-1010 1010-1020 1050-1058 1050-1060 1100-1160 1170-1180 1300-1310 17ff-1900");
	i->pe.directories[DIRECTORY_EXCEPTION].size = 35;
	assert_functions(i, "1000-1010 1010-1020");
	i->pe.machine = IMAGE_FILE_MACHINE_I386;
	assert_functions(i, "");
	free_image(i);
}

/* The chain of the part after "1400-1410" has @n entries before that of the function itself. */
TEST(long_chains)
{
	for (unsigned n = 1; n < 40; n++) {
		struct image *i = new_image(IMAGE_FILE_MACHINE_AMD64);
		uint32_t plain = put_unwind(i, 0, 0, 0, 0), at = plain;
		for (unsigned k = 0; k < n; k++)
			at = put_unwind(i, k % 3, k ? 0x1500 : 0x1400, 0x1600, at);
		const uint32_t v[] = {0x1400, 0x1410, plain, 0x1410, 0x1420, at};
		put_functions(i, v, ARRAY_SIZE(v));
		assert_functions(i, n <= 32 ? "1400-1420" : "1400-1410 1410-1420");
		free_image(i);
	}
	/* Of a chain that breaks off, the last whole entry counts. */
	for (unsigned size = 0; size <= 16; size += 4) {
		struct image *i = new_image(IMAGE_FILE_MACHINE_AMD64);
		i->n = SIZE - 0x100 - size;
		uint32_t cut = put_unwind(i, 0, 0x1500, 0x1510, 0);
		i->n = TABLES_RVA - RVA;
		i->piece.bytes.size = SIZE - 0x100;
		uint32_t at = put_unwind(i, 0, 0x1400, 0x1410, cut);
		const uint32_t v[] = {0x1400, 0x1410, 0, 0x1410, 0x1420, at};
		put_functions(i, v, ARRAY_SIZE(v));
		assert_functions(i, size < 16 ? "1400-1420" : "1400-1410 1410-1420");
		free_image(i);
	}
	/* A cycle ends. */
	struct image *i = new_image(IMAGE_FILE_MACHINE_AMD64);
	uint32_t self = put_unwind(i, 0, 0x1400, 0x1410, (uint32_t)(RVA + i->n));
	const uint32_t v[] = {0x1400, 0x1410, self, 0x1410, 0x1420, self};
	put_functions(i, v, ARRAY_SIZE(v));
	assert_functions(i, "1400-1420");
	free_image(i);
}

TEST(arm_functions)
{
	for (int wide = 0; wide < 2; wide++) {
		struct image *i = new_image(wide ? IMAGE_FILE_MACHINE_ARM64 : IMAGE_FILE_MACHINE_ARMNT);
		uint32_t data = put32(i, 0xfffc0000 | 0x21);
		const uint32_t v[] = {0x1001, 1 | 5 << 2, 0x1100,     2 | 0x7ff << 2 | 1u << 31, 0x1201,
				      data,   0x1301,     0x7ffffff0, /* no such data */ 0x1400, 3 | 1 << 2};
		put_functions(i, v, ARRAY_SIZE(v));
		assert_functions(i, wide ? "1001-1015 1100-30fc 1201-1285 1400-1404"
					 : "1000-100a 1100-20fe 1200-1242 1400-1402");
		i->pe.directories[DIRECTORY_EXCEPTION].size = 15;
		assert_functions(i, wide ? "1001-1015" : "1000-100a");
		free_image(i);
	}
}

TEST(bounds)
{
	struct image *i = new_image(IMAGE_FILE_MACHINE_AMD64);
	const uint32_t v[] = {0x1000, 0x1010, 0, 0x1020, 0x1040, 0, 0x1050, 0x1060, 0};
	put_functions(i, v, ARRAY_SIZE(v));
	assert_int_equal(pe_add_symbol(&i->object, BASE + 0x1020, "b", SYMBOL_FUNC, true), 0);
	assert_int_equal(pe_add_symbol(&i->object, BASE + 0x1020, "c", SYMBOL_FUNC, true), 0);
	assert_int_equal(pe_add_symbol(&i->object, BASE + 0x1051, "d", SYMBOL_NOTYPE, true), 0);
	assert_int_equal(pe_add_symbol(&i->object, BASE + 0x1070, "e", SYMBOL_NOTYPE, true), 0);
	assert_int_equal(pe_bound_symbols(&i->object), 0);
	assert_symbols(&i->object, "1020+20 b g; 1020+20 c g; 1051+0 d g n; 1070+0 e g n");
	assert_int_equal(i->object.functions.n, 3);
	assert_int_equal(i->object.functions.v[2].hi, BASE + 0x1060);
	assert_string_equal(i->object.bounded_by, ".pdata");
	free_image(i);
}

/* ---- Imports ---- */

static void put_word(struct image *i, uint64_t v)
{
	put32(i, v);
	if (i->object.addr_size == 8)
		put32(i, v >> 32);
}

/* A list of names: two, one by number between them, and one whose text is missing. */
static uint32_t put_list(struct image *i, const char *first, const char *second)
{
	uint32_t a = put_bytes(i, "\1\1", 2);
	put_bytes(i, first, strlen(first) + 1);
	uint32_t b = put_bytes(i, "\1\1", 2);
	put_bytes(i, second, strlen(second) + 1);
	uint32_t at = (uint32_t)(RVA + i->n);
	put_word(i, a);
	put_word(i, i->object.addr_size == 8 ? 1ULL << 63 | 5 : 0x80000005);
	put_word(i, 0x7ffffff0);
	put_word(i, b);
	put_word(i, 0);
	put_word(i, a);
	return at;
}

static void put_imports(struct image *i)
{
	uint32_t one = put_list(i, "one", "two"), three = put_list(i, "three", ""),
		 five = put_list(i, "five", "six");
	uint32_t seven = put_list(i, "seven", "");
	uint32_t directory = put32(i, one);
	put_bytes(i, "............", 12);
	put32(i, 0x3000);
	put32(i, 0); /* no list: the slots have the names */
	put_bytes(i, "............", 12);
	put32(i, three);
	put32(i, one);
	put_bytes(i, "............", 12);
	put32(i, 0);
	i->pe.directories[DIRECTORY_IMPORT] = (struct pe_directory){directory, 60};
	directory = put_bytes(i, "............", 12);
	put32(i, 0x2900);
	put32(i, five);
	put_bytes(i, "............", 12);
	for (int k = 0; k < 2; k++) { /* without a list, and without slots */
		put_bytes(i, "............", 12);
		put32(i, k ? 0 : 0x2800);
		put32(i, k ? five : 0);
		put_bytes(i, "............", 12);
	}
	put_bytes(i, "............", 12);
	put32(i, 0x2980);
	put32(i, seven);
	put_bytes(i, "............", 12);
	i->pe.directories[DIRECTORY_DELAY_IMPORT] = (struct pe_directory){directory, 128};
}

static void assert_imports(const struct image *i, size_t n, const char *const *names, const uint64_t *slots)
{
	pe_imports got = {0};
	assert_int_equal(pe_list_imports(&i->object, &got), 0);
	assert_int_equal(got.n, n);
	for (size_t k = 0; k < n; k++) {
		assert_string_equal(got.v[k].name, names[k]);
		assert_int_equal(got.v[k].slot, BASE + slots[k]);
	}
	vec_free(&got);
}

TEST(imports)
{
	for (int wide = 0; wide < 2; wide++) {
		struct image *i = new_image(wide ? IMAGE_FILE_MACHINE_AMD64 : IMAGE_FILE_MACHINE_I386);
		uint64_t word = wide ? 8 : 4;
		put_imports(i);
		uint64_t three =
			load32(i->bytes + (i->pe.directories[DIRECTORY_IMPORT].rva - RVA) + 36, false);
		const char *const names[] = {"three", "five", "six", "seven", "one", "two"};
		const uint64_t slots[] = {three,  0x2900, 0x2900 + 3 * word,
					  0x2980, 0x3000, 0x3000 + 3 * word};
		assert_imports(i, 6, names, slots);
		i->pe.directories[DIRECTORY_IMPORT].size = 39;
		i->pe.directories[DIRECTORY_DELAY_IMPORT].size = 31;
		assert_imports(i, 2, names + 4, slots + 4);
		i->pe.directories[DIRECTORY_IMPORT].size = 19;
		i->pe.directories[DIRECTORY_DELAY_IMPORT].size = 32;
		assert_imports(i, 2, names + 1, slots + 1);
		free_image(i);
	}
}

/* A list may end with the bytes. */
TEST(cut_lists)
{
	for (int wide = 0; wide < 2; wide++)
		for (size_t left = 0; left <= 3; left++) {
			struct image *i =
				new_image(wide ? IMAGE_FILE_MACHINE_AMD64 : IMAGE_FILE_MACHINE_I386);
			uint32_t name = put_bytes(i, "\1\1name", 7), directory = put32(i, 0x2f00),
				 word = wide ? 8 : 4;
			put_bytes(i, "............", 12);
			put32(i, 0x3000);
			i->pe.directories[DIRECTORY_IMPORT] = (struct pe_directory){directory, 20};
			i->n = 0x2f00 - RVA;
			for (int k = 0; k < 8; k++)
				put_word(i, name);
			i->piece.bytes.size = 0x2f00 - RVA + 2 * word + left;
			const char *const names[] = {"name", "name"};
			const uint64_t slots[] = {0x3000, 0x3000 + word};
			assert_imports(i, 2, names, slots);
			free_image(i);
		}
}

static void put_jump(struct image *i, size_t off, uint32_t slot)
{
	bool wide = i->object.addr_size == 8;
	memcpy(i->bytes + off, "\xff\x25", 2);
	store32(i->bytes + off + 2, wide ? slot - (uint32_t)(RVA + off + 6) : BASE + slot, false);
}

TEST(x86_thunks)
{
	for (int wide = 0; wide < 2; wide++) {
		struct image *i = new_image(wide ? IMAGE_FILE_MACHINE_AMD64 : IMAGE_FILE_MACHINE_I386);
		uint32_t two = 0x3000 + (wide ? 24 : 12);
		memset(i->bytes, 0x55, CODE_SIZE);
		put_imports(i);
		i->object.sections.n = 1;
		put_jump(i, 0, 0x3000); /* at the start, and after another one */
		put_jump(i, 6, two);
		put_jump(i, 13, 0x3000); /* after no padding, not aligned */
		put_jump(i, 24, two);    /* nor where functions begin */
		for (size_t k = 0; k < 4; k++) {
			i->bytes[40 + 11 * k] = (uint8_t)("\x90\xcc\0\x91"[k]);
			put_jump(i, 41 + 11 * k, 0x3000);
		}
		put_jump(i, 96, 0x3004 + !wide * 1); /* no import's */
		put_jump(i, 104, 0x3000);
		i->bytes[105] = 0x15; /* a call */
		put_jump(i, 112, 0x3000);
		i->bytes[112] = 0xfe;
		i->bytes[127] = 0x90;
		put_jump(i, 128, 0x3000); /* within a function, if there are such */
		i->bytes[143] = 0xc3;
		put_jump(i, 144, 0x3000);
		put_jump(i, CODE_SIZE - 6, two);
		i->bytes[CODE_SIZE - 7] = 0xcc;
		/* What is no code may have the same bytes. */
		put_jump(i, TABLES_RVA - RVA + 0x700, 0x3000);
		i->sections[1].raw = (struct span){i->bytes + (TABLES_RVA - RVA) + 0x700, 6};
		i->object.sections.n = 2;
		const uint32_t v[] = {0x1000 + 120, 0x1000 + 140, 0, 0x1000 + 122, 0x1000 + 124, 0};
		put_functions(i, v, 6);
		assert_int_equal(pe_load_thunks(&i->object, NULL), 0);
		char want[300];
		snprintf(want, sizeof(want),
			 "1000+6 one t; 1006+6 two t; 1029+6 one t; 1034+6 one t; %s1090+6 one t; "
			 "17fa+6 two t",
			 wide ? "" : "1080+6 one t; ");
		assert_symbols(&i->object, want);
		/* Where symbols name thunks, only there, or after another one. */
		i->object.symbols.n = 0;
		i->pe.has_symbols = true;
		assert_int_equal(pe_add_symbol(&i->object, BASE + 0x1090, "one", SYMBOL_FUNC, true), 0);
		assert_int_equal(pe_load_thunks(&i->object, NULL), 0);
		assert_int_equal(i->object.symbols.n, 2);
		i->pe.has_symbols = false;
		/* No more bytes are searched than the file has. */
		i->object.symbols.n = 0;
		i->object.sections.n = 3;
		i->object.map_size = CODE_SIZE - 1;
		assert_int_equal(pe_load_thunks(&i->object, NULL), 0);
		*strrchr(want, ';') = 0;
		assert_symbols(&i->object, want);
		i->pe.machine = IMAGE_FILE_MACHINE_ARMNT;
		assert_int_equal(pe_load_thunks(&i->object, NULL), 0);
		assert_symbols(&i->object, want);
		free_image(i);
	}
}

static void put_arm_thunk(struct image *i, size_t off, uint32_t slot)
{
	uint32_t pages = (uint32_t)((int32_t)slot >> 12) - (uint32_t)((RVA + off) >> 12);
	store32(i->bytes + off, 0x90000010 | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5, false);
	store32(i->bytes + off + 4, 0xf9400210 | (slot & 0xfff) / 8 << 10, false);
	store32(i->bytes + off + 8, 0xd61f0200, false);
}

TEST(arm64_thunks)
{
	struct image *i = new_image(IMAGE_FILE_MACHINE_ARM64);
	put_imports(i);
	i->object.sections.n = 1;
	put_arm_thunk(i, 4, 0x3000);
	put_arm_thunk(i, 16, 0x2918);
	put_arm_thunk(i, 0x7f4, 0x3018);
	for (size_t k = 0; k < 3; k++) {
		put_arm_thunk(i, 0x100 + 16 * k, 0x3000);
		i->bytes[0x100 + 16 * k + 4 * k] ^= 1; /* another instruction */
	}
	put_arm_thunk(i, 0x202, 0x3000); /* not aligned */
	assert_int_equal(pe_load_thunks(&i->object, NULL), 0);
	assert_symbols(&i->object, "1004+c one t; 1010+c six t; 17f4+c two t");
	/* Imports before the code. */
	i->object.symbols.n = 0;
	i->text = (struct range){BASE + 0x5000, BASE + 0x5800};
	i->sections[0].addr = BASE + 0x5000;
	put_arm_thunk(i, 0, 0x3000 - 0x4000);
	assert_int_equal(pe_load_thunks(&i->object, NULL), 0);
	assert_int_equal(i->object.symbols.v[0].addr, BASE + 0x5000);
	assert_string_equal(i->object.symbols.v[0].name, "one");
	free_image(i);
}

/* ---- The id ---- */

TEST(ids)
{
	static const uint8_t guid[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	for (int k = 0; k < 8; k++) {
		struct image *i = new_image(IMAGE_FILE_MACHINE_AMD64);
		uint32_t record = put_bytes(i, k == 1 ? "RSDT" : "RSDS", 4);
		put_bytes(i, k == 2 ? (const uint8_t[16]){0} : guid, 16);
		put32(i, 7);
		put_bytes(i, "a.pdb", 6);
		uint32_t directory = put_bytes(i, "0123456789abcdef0123456789ab", 28); /* of another type */
		put_bytes(i, "0123456789ab", 12);
		put32(i, k == 3 ? 1 : 2);
		put32(i, k == 4 ? 23 : k == 5 ? 29 : 30);
		put32(i, k == 6 ? 0 : record);
		put32(i, k == 6 ? record - RVA : k == 7 ? SIZE : 0);
		i->pe.directories[DIRECTORY_DEBUG] = (struct pe_directory){directory, 56};
		pe_read_id(&i->object);
		bool has = k == 0 || k >= 5;
		assert_int_equal(i->object.id_size, has ? 16 : 0);
		for (uint8_t b = 0; has && b < 16; b++)
			assert_int_equal(i->object.id[b], b);
		assert_int_equal(i->pe.pdb_age, has ? 7 : 0);
		if (has && k != 5)
			assert_string_equal(i->pe.pdb_path, "a.pdb");
		else
			assert_null(i->pe.pdb_path);
		i->object.id_size = 0;
		i->pe.directories[DIRECTORY_DEBUG].size = 55;
		pe_read_id(&i->object);
		assert_int_equal(i->object.id_size, 0);
		free_image(i);
	}
}

TEST(no_memory)
{
	for (int what = 0; what < 2; what++) {
		long n = 0, before = live;
		for (int err = -ENOMEM; err; n++) {
			struct image *i = new_image(IMAGE_FILE_MACHINE_AMD64);
			const uint32_t v[] = {0x1010, 0x1020, 0, 0x1100, 0x1110, 0};
			put_imports(i);
			i->object.sections.n = 1;
			put_jump(i, 0, 0x3000);
			put_functions(i, v, 6);
			put_coff(
				i,
				(const struct coff[]){{"a", 0x10, 1, 0x20, 2, 0}, {"b", 0x20, 1, 0x20, 2, 0}},
				2);
			allowed = n;
			err = what ? pe_load_thunks(&i->object, NULL)
				   : pe_load_symbols(&i->object, &(struct object_file *){&i->object}, 1);
			allowed = -1;
			assert_int_equal(err, err ? -ENOMEM : 0);
			if (!err)
				assert_int_equal(i->object.symbols.n, what ? 1 : 2);
			free_image(i);
			assert_int_equal(live, before);
		}
		assert_true(n > 3);
	}
}
