/*
 * Names of stubs that no symbol of a relocation gives: of resolvers, of the entries for lazy binding of ppc64
 * and MIPS. And what names and tables may cost.
 */
#include "tests/unit/convert/object/elf/made_plt.h"

#include <errno.h>

#include "tests/lib/unit.h"

enum { TEXT = 0x1800, OPD = 0x4000 };

/* Those of .symtab, with their offsets. */
static const char strtab[] = "\0a\0b\0_c\0_d\0e@V1";

enum { NAME_A = 1, NAME_B = 3, NAME_C = 5, NAME_D = 8, NAME_E = 11 };

static struct made_section *add_symtab(struct made_file *f)
{
	struct made_section *s = new_section(f, ".symtab", SHT_SYMTAB, 0, 0);
	s->align = 8;
	s->entry_size = f->wide ? 24 : 16;
	s->link = (uint32_t)f->n_sections;
	add_bytes(new_section(f, ".strtab", SHT_STRTAB, 0, 0), strtab, sizeof(strtab));
	add_symbol(s, f, 0, 0, 0, 0, 0, 0);
	return s;
}

/* A .plt with @n stubs, which is section 3, and .text, which is section 4. */
static struct made_file *file_with_text(const char *plt, bool big, uint16_t machine, size_t n)
{
	struct made_file *f = plt_file(true, big, machine);
	struct made_section *s = add_code(f, plt, CODE);
	for (size_t i = 0; i < n; i++)
		add_stub(s, f, SLOTS + 8 * i);
	s = add_code(f, ".text", TEXT);
	memset(s->data, 0, 0x100);
	s->n = 0x100;
	return f;
}

/* ---- Resolvers ---- */

struct named {
	uint32_t name;
	unsigned info;
	uint64_t addr;
};

static const struct {
	const char *what;
	struct named symbols[3];
	const char *want;
} resolver_cases[] = {
	{"none", {{0}}, "1000+10 *ABS*+0x1801@plt"},
	{"a function", {{NAME_A, GLOBAL_FUNC, RESOLVER}}, "1000+10 a@plt"},
	{"a local function", {{NAME_A, LOCAL_FUNC, RESOLVER}}, "1000+10 a@plt"},
	{"a label", {{NAME_A, GLOBAL_LABEL, RESOLVER}}, "1000+10 *ABS*+0x1801@plt"},
	{"a label and a function",
	 {{NAME_A, GLOBAL_LABEL, RESOLVER}, {NAME_B, GLOBAL_FUNC, RESOLVER}},
	 "1000+10 b@plt"},
	{"functions beside it",
	 {{NAME_A, GLOBAL_FUNC, RESOLVER - 1}, {NAME_B, GLOBAL_FUNC, RESOLVER + 1}},
	 "1000+10 *ABS*+0x1801@plt"},
	{"functions around it",
	 {{NAME_B, GLOBAL_FUNC, RESOLVER + 1},
	  {NAME_A, GLOBAL_FUNC, RESOLVER},
	  {NAME_C, IFUNC, RESOLVER - 1}},
	 "1000+10 a@plt"},
	{"a better one behind it",
	 {{NAME_C, GLOBAL_FUNC, RESOLVER}, {NAME_B, IFUNC, RESOLVER + 1}},
	 "1000+10 _c@plt"},
	{"a version", {{NAME_E, IFUNC, RESOLVER}}, "1000+10 e@plt"},
	{"the first", {{NAME_B, GLOBAL_FUNC, RESOLVER}, {NAME_A, GLOBAL_FUNC, RESOLVER}}, "1000+10 b@plt"},
	{"the first of two resolvers",
	 {{NAME_B, IFUNC, RESOLVER}, {NAME_A, IFUNC, RESOLVER}},
	 "1000+10 b@plt"},
	{"a resolver", {{NAME_A, GLOBAL_FUNC, RESOLVER}, {NAME_B, IFUNC, RESOLVER}}, "1000+10 b@plt"},
	{"a resolver first", {{NAME_B, IFUNC, RESOLVER}, {NAME_A, GLOBAL_FUNC, RESOLVER}}, "1000+10 b@plt"},
	{"a resolver with an underscore",
	 {{NAME_A, GLOBAL_FUNC, RESOLVER}, {NAME_C, IFUNC, RESOLVER}},
	 "1000+10 _c@plt"},
	{"without an underscore",
	 {{NAME_C, IFUNC, RESOLVER}, {NAME_D, IFUNC, RESOLVER}, {NAME_A, IFUNC, RESOLVER}},
	 "1000+10 a@plt"},
	{"without an underscore first",
	 {{NAME_A, GLOBAL_FUNC, RESOLVER}, {NAME_C, GLOBAL_FUNC, RESOLVER}},
	 "1000+10 a@plt"},
	{"only with an underscore",
	 {{NAME_D, GLOBAL_FUNC, RESOLVER}, {NAME_C, GLOBAL_FUNC, RESOLVER}},
	 "1000+10 _d@plt"},
};

TEST(resolvers)
{
	for (size_t i = 0; i < ARRAY_SIZE(resolver_cases); i++) {
		struct made_file *f = file_with_text(".plt", false, EM_X86_64, 1);
		struct made_section *s = add_relocations(f, SHT_RELA, TABLE), *symtab;
		add_relocation(s, f, SLOTS, SYM_NONE, R_X86_64_IRELATIVE, RESOLVER);
		symtab = add_symtab(f);
		for (size_t k = 0; k < 3 && resolver_cases[i].symbols[k].name; k++) {
			const struct named *n = &resolver_cases[i].symbols[k];
			add_symbol(symtab, f, n->name, n->addr, 0, n->info, 0, 4);
		}
		expect(f, resolver_cases[i].what, resolver_cases[i].want);
	}
}

/* Several in one file, besides a slot with a symbol. */
TEST(several_resolvers)
{
	struct made_file *f = file_with_text(".iplt", false, EM_X86_64, 4);
	struct made_section *s = add_relocations(f, SHT_RELA, TABLE);
	static const uint64_t addends[] = {RESOLVER + 1, RESOLVER, 0xfedcba9876543210};
	for (uint64_t i = 0; i < 3; i++)
		add_relocation(s, f, SLOTS + 8 * i, SYM_NONE, R_X86_64_IRELATIVE, addends[i]);
	add_relocation(s, f, SLOTS + 24, SYM_F, R_X86_64_IRELATIVE, RESOLVER);
	s = add_symtab(f);
	add_symbol(s, f, NAME_A, RESOLVER, 0, IFUNC, 0, 4);
	add_symbol(s, f, NAME_B, RESOLVER + 1, 0, IFUNC, 0, 4);
	expect(f, "several",
	       "1000+10 b@plt; 1010+10 a@plt; 1020+10 *ABS*+0xfedcba9876543210@plt; 1030+10 f@plt");
}

/* Without an addend the address of the resolver is in the slot, if the file has the bytes of it. */
TEST(words)
{
	static const struct {
		const char *what;
		uint32_t type;
		uint64_t flags;
		uint64_t addr;
		size_t before, size; /* bytes before the slot, and of the section */
		bool found;
	} cases[] = {
		{"the whole section", SHT_PROGBITS, SHF_ALLOC, SLOTS, 0, 8, true},
		{"in the middle", SHT_PROGBITS, SHF_ALLOC, SLOTS - 3, 3, 20, true},
		{"at the end", SHT_PROGBITS, SHF_ALLOC, SLOTS - 3, 3, 11, true},
		{"cut by a byte", SHT_PROGBITS, SHF_ALLOC, SLOTS, 0, 7, false},
		{"its first byte alone", SHT_PROGBITS, SHF_ALLOC, SLOTS - 4, 4, 5, false},
		{"before it", SHT_PROGBITS, SHF_ALLOC, SLOTS - 8, 0, 8, false},
		{"behind it", SHT_PROGBITS, SHF_ALLOC, SLOTS + 1, 0, 8, false},
		{"no bytes", SHT_NOBITS, SHF_ALLOC, SLOTS, 0, 8, false},
		{"compressed", SHT_PROGBITS, SHF_ALLOC | SHF_COMPRESSED, SLOTS, 24, 40, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int again = 0; again < 2; again++) {
			struct made_file *f = file_with_text(".plt", false, EM_X86_64, 1);
			struct made_section *s =
				new_section(f, ".got", cases[i].type, cases[i].flags, cases[i].addr);
			memset(s->data, 0x77, sizeof(s->data));
			s->n = cases[i].before;
			add(s, f, 0x12345678, 8);
			s->n = cases[i].size;
			s->data[0] = cases[i].flags & SHF_COMPRESSED ? 9 : s->data[0]; /* no such type */
			if (again) { /* and in a section that follows */
				s = new_section(f, ".got.plt", SHT_PROGBITS, SHF_ALLOC, SLOTS);
				add(s, f, 0xabc, 8);
			}
			s = add_relocations(f, SHT_REL, TABLE);
			add_relocation(s, f, SLOTS, SYM_NONE, R_X86_64_IRELATIVE, 0);
			bool passed = cases[i].found || (cases[i].size < 8 && cases[i].type != SHT_NOBITS);
			expect(f, cases[i].what,
			       cases[i].found     ? "1000+10 *ABS*+0x12345678@plt"
			       : again && !passed ? "1000+10 *ABS*+0xabc@plt"
						  : "");
		}
}

/* The first ABI of ppc64 names a resolver by its descriptor. */
TEST(descriptors)
{
	for (uint32_t abi = 1; abi <= 2; abi++) {
		struct made_file *f = file_with_text(".plt", true, EM_PPC64, 1);
		struct made_section *s = new_section(f, ".got", SHT_PROGBITS, SHF_ALLOC, SLOTS);
		add(s, f, 0, 8);
		f->flags = abi;
		s = new_section(f, ".opd", SHT_PROGBITS, SHF_ALLOC, OPD);
		add(s, f, TEXT + 0x10, 8);
		add(s, f, 0, 8);
		s = add_relocations(f, SHT_RELA, TABLE);
		add_relocation(s, f, SLOTS, SYM_NONE, R_PPC64_JMP_IREL, OPD);
		s = add_symtab(f);
		add_symbol(s, f, NAME_A, TEXT + 0x10, 0, GLOBAL_FUNC, 0, 4);
		expect(f, "descriptor", abi == 1 ? "1000+c a@plt" : "1000+c *ABS*+0x4000@plt");
	}
}

/* ---- Stubs that have the number of a symbol ---- */

static void add_mips_stub(struct made_section *s, const struct made_file *f, uint32_t symbol)
{
	add_word(s, f->big, 0x8f990000);
	add_word(s, f->big, 0x03e07825);
	add_word(s, f->big, 0x0320f809);
	add_word(s, f->big, 0x24180000 | symbol);
}

/* Of the first table of dynamic symbols, if there is one. */
TEST(symbol_numbers)
{
	static const char other[] = "\0other";
	enum { ONE, TWO, NO_TABLE, CASES };
	for (int k = 0; k < CASES; k++)
		for (int big = 0; big < 2; big++) {
			static const uint32_t symbols[] = {SYM_F,     SYM_NONE,    SYM_VERSION, SYM_NO_NAME,
							   SYM_EMPTY, SYM_OUTSIDE, SYM_J,       SYM_J + 1,
							   0xffff,    SYM_G};
			struct made_file *f = plt_file(false, big, EM_MIPS);
			struct made_section *s = add_code(f, ".MIPS.stubs", CODE);
			for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
				add_mips_stub(s, f, symbols[i]);
			if (k == NO_TABLE)
				f->sections[DYNSYM].type = SHT_SYMTAB;
			if (k == TWO) {
				s = new_section(f, ".dynsym", SHT_DYNSYM, SHF_ALLOC, 0);
				s->entry_size = 16;
				s->align = 8;
				s->link = (uint32_t)f->n_sections;
				for (uint32_t i = 0; i < 20; i++)
					add_symbol(s, f, 1, 0, 0, GLOBAL_FUNC, 0, SHN_UNDEF);
				add_bytes(new_section(f, ".dynstr", SHT_STRTAB, 0, 0), other, sizeof(other));
			}
			expect(f, "numbers of symbols",
			       k == NO_TABLE ? ""
					     : "1000+10 f@plt; 1020+10 hh@plt; 1060+10 j@plt; 1090+10 g@plt");
		}
}

/* ---- Entries of ppc64 for lazy binding ---- */

enum { GLINK = CODE + 4 /* the first entry is 32 bytes behind it */ };

/* A branch, and what loads a number. */
#define BR     0x48000100
#define LI(n)  (0x38000000 | (n))
#define LIS(n) (0x3c000000 | (n))
#define ORI(n) (0x60000000 | (n))

/* Relocations 0 and 1 name f and g, 2 a symbol without name, 3 none, and 4 j. */
static const struct glink_case {
	const char *what;
	uint64_t words[8]; /* up to 0 */
	const char *want;
} glink_cases[] = {
	{"nothing", {0}, ""},
	{"numbered by their order", {BR, BR}, "1024+4 f@plt; 1028+4 g@plt"},
	{"up to one without name", {BR, BR, BR, BR, BR}, "1024+4 f@plt; 1028+4 g@plt"},
	{"with their numbers", {LI(1), BR, LI(0), BR}, "1024+8 g@plt; 102c+8 f@plt"},
	{"with large numbers", {LIS(0), ORI(1), BR, LIS(0), ORI(4), BR}, "1024+c g@plt; 1030+c j@plt"},
	{"of both kinds", {LI(1), BR, BR, LI(0), BR}, "1024+8 g@plt; 102c+4 g@plt; 1030+8 f@plt"},
	{"the order counts those with numbers", {LI(4), BR, LI(4), BR, BR, BR}, "1024+8 j@plt; 102c+8 j@plt"},
	{"the last", {LI(4), BR}, "1024+8 j@plt"},
	{"without symbol", {LI(3), BR, LI(0), BR}, ""},
	{"without name", {LI(2), BR, LI(0), BR}, ""},
	{"past the table", {LI(5), BR, LI(0), BR}, ""},
	{"far past it", {LI(0xffff), BR}, ""},
	{"past it by the upper half", {LIS(1), ORI(0), BR}, ""},
	{"a negative number", {LIS(0x8000), ORI(0), BR}, ""},
	{"the greatest", {LIS(0xffff), ORI(0xffff), BR}, ""},
	{"the greatest positive", {LIS(0x7fff), ORI(0xffff), BR}, ""},
	{"a call", {0x48000101}, ""},
	{"an absolute branch", {0x48000102}, ""},
	{"a branch backwards", {0x4bfffffc, 0x4b000000}, "1024+4 f@plt; 1028+4 g@plt"},
	{"another instruction", {0x4c000100, BR}, ""},
	{"no branch", {LI(0), 0x60000000, BR}, ""},
	{"a number alone", {LI(0)}, ""},
	{"another register", {0x38200000, BR}, ""},
	{"half a number", {LIS(0)}, ""},
	{"a large number alone", {LIS(0), ORI(0)}, ""},
};

static struct made_section *add_glink_table(struct made_file *f, uint32_t type, uint64_t addr)
{
	static const uint64_t symbols[] = {SYM_F, SYM_G, SYM_NO_NAME, SYM_NONE, SYM_J};
	struct made_section *s = add_relocations(f, type, addr);
	for (uint64_t i = 0; i < ARRAY_SIZE(symbols); i++)
		add_relocation(s, f, SLOTS + 8 * i, symbols[i], 21, RESOLVER);
	return s;
}

static void add_dynamic(struct made_file *f, uint64_t glink, uint64_t jmprel)
{
	struct made_section *s = new_section(f, ".dynamic", SHT_DYNAMIC, SHF_ALLOC, 0);
	const uint64_t entries[] = {DT_JMPREL, jmprel, 0x70000000, glink, DT_NULL, 0};
	s->align = 8;
	s->entry_size = 16;
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		add(s, f, entries[i], 8);
}

/* Entries in a section at @addr, of which the first is @before bytes from the beginning. */
static struct made_file *glink_file(uint16_t machine, bool big, uint64_t addr, size_t before,
				    const uint64_t *entries)
{
	struct made_file *f = plt_file(true, big, machine);
	struct made_section *s = add_code(f, machine == EM_PPC64 ? ".text" : ".plt", addr);
	f->flags = 2;
	s->n = before;
	for (size_t i = 0; i < 8 && entries[i]; i++)
		add_word(s, big, entries[i]);
	return f;
}

TEST(glink_entries)
{
	for (size_t i = 0; i < ARRAY_SIZE(glink_cases); i++)
		for (int big = 0; big < 2; big++) {
			struct made_file *f = glink_file(EM_PPC64, big, CODE, 36, glink_cases[i].words);
			add_glink_table(f, SHT_RELA, TABLE);
			add_dynamic(f, GLINK, TABLE);
			expect(f, glink_cases[i].what, glink_cases[i].want);
		}
}

/* Where the entries are, and the table that names them. The section ends with half an entry. */
TEST(glink_places)
{
	static const uint64_t entries[] = {BR, LI(1), 0};
	static const struct {
		const char *what;
		uint16_t machine;
		uint64_t addr;
		size_t before;
		uint64_t glink;
		uint32_t table;
		uint64_t table_addr, jmprel;
		bool found;
	} cases[] = {
		{"usual", EM_PPC64, CODE, 36, GLINK, SHT_RELA, TABLE, TABLE, true},
		{"from the first byte", EM_PPC64, GLINK, 32, GLINK, SHT_RELA, TABLE, TABLE, true},
		{"before the section", EM_PPC64, GLINK + 1, 31, GLINK, SHT_RELA, TABLE, TABLE, false},
		{"at its end", EM_PPC64, CODE, 36, CODE + 44, SHT_RELA, TABLE, TABLE, false},
		{"at its last byte", EM_PPC64, CODE, 36, CODE + 43, SHT_RELA, TABLE, TABLE, false},
		{"the first entry at its end", EM_PPC64, CODE, 36, CODE + 12, SHT_RELA, TABLE, TABLE, false},
		{"no entries", EM_PPC64, 0, 32, 0, SHT_RELA, TABLE, TABLE, false},
		{"another table", EM_PPC64, CODE, 36, GLINK, SHT_RELA, TABLE, TABLE + 1, false},
		{"no table", EM_PPC64, CODE, 36, GLINK, SHT_RELA, 0, 0, false},
		{"no addends", EM_PPC64, CODE, 36, GLINK, SHT_REL, TABLE, TABLE, false},
		{"another machine", EM_X86_64, CODE, 36, GLINK, SHT_RELA, TABLE, TABLE, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made_file *f =
			glink_file(cases[i].machine, false, cases[i].addr, cases[i].before, entries);
		add_glink_table(f, cases[i].table, cases[i].table_addr);
		add_dynamic(f, cases[i].glink, cases[i].jmprel);
		expect(f, cases[i].what, cases[i].found ? "1024+4 f@plt" : "");
	}
}

/* Symbols are those of its own table, which need not be the first. Bytes that are no code have no entry. */
TEST(glink_sections)
{
	static const uint64_t entries[] = {BR, BR, 0};
	for (int code = 0; code < 2; code++) {
		struct made_file *f = glink_file(EM_PPC64, true, CODE, 36, entries);
		struct made_section *s = add_relocations(f, SHT_RELA, TABLE - 0x100);
		f->sections[3].flags = code ? CODE_FLAGS : SHF_ALLOC;
		add_relocation(s, f, SLOTS, SYM_J, ANY_TYPE, 0);
		s = add_glink_table(f, SHT_RELA, TABLE);
		s->link = (uint32_t)f->n_sections;
		s = add_symtab(f);
		add_symbol(s, f, NAME_A, 0, 0, GLOBAL_FUNC, 0, SHN_UNDEF);
		add_symbol(s, f, NAME_B, 0, 0, GLOBAL_FUNC, 0, SHN_UNDEF);
		add_dynamic(f, GLINK, TABLE);
		expect(f, "its own symbols", code ? "1024+4 a@plt; 1028+4 b@plt" : "");
	}
}

/* What is looked for may be in the first section of the file. */
TEST(first_section)
{
	enum { CODE_FIRST, SLOTS_FIRST, BASE_FIRST, GLINK_FIRST, CASES };
	static const uint16_t machines[] = {EM_X86_64, EM_X86_64, EM_386, EM_PPC64};
	static const char *const want[] = {"1000+10 f@plt", "1000+10 *ABS*+0x1801@plt", "1000+6 f@plt",
					   "1024+4 f@plt; 1028+4 g@plt"};
	for (int k = 0; k < CASES; k++) {
		struct made_file *other = plt_file(k != BASE_FIRST, false, machines[k]);
		struct made_file *f = new_file(k != BASE_FIRST, false, ET_DYN, machines[k]);
		struct made_section *code = NULL, *s;
		bool code_first = k == CODE_FIRST || k == GLINK_FIRST;
		f->flags = 2;
		for (int i = 0; i < 2; i++)
			if (code_first == !i)
				code = add_code(f, k == GLINK_FIRST ? ".text" : ".plt", CODE);
			else
				add(new_section(f, ".got", SHT_PROGBITS, SHF_ALLOC, SLOTS), f, RESOLVER,
				    f->wide ? 8 : 4);
		if (k == BASE_FIRST) {
			add_bytes(code, "\xff\xa3\0\0\0\0", 6);
		} else if (k == GLINK_FIRST) {
			code->n = 36;
			add_word(code, false, BR);
			add_word(code, false, BR);
		} else {
			add_stub(code, f, SLOTS);
		}
		f->sections[f->n_sections++] = other->sections[DYNSYM];
		f->sections[f->n_sections++] = other->sections[DYNSTR];
		f->sections[3].link = 4;
		if (k == GLINK_FIRST) {
			s = add_glink_table(f, SHT_RELA, TABLE);
			add_dynamic(f, GLINK, TABLE);
		} else {
			s = add_relocations(f, k == SLOTS_FIRST ? SHT_REL : SHT_RELA, TABLE);
			add_relocation(s, f, SLOTS, k == SLOTS_FIRST ? SYM_NONE : SYM_F, R_X86_64_IRELATIVE,
				       0);
		}
		s->link = 3;
		free(other);
		expect(f, want[k], want[k]);
	}
}

/* ---- What it may cost ---- */

static bool pay(uint64_t *left, uint64_t bytes)
{
	if (bytes > *left)
		return false;
	*left -= bytes;
	return true;
}

/*
 * Four times the bytes of the file pay for tables, the symbols that they are linked to, code and names; what
 * is too much is left out, and what follows may still be paid.
 */
TEST(budgets)
{
	struct made_file *f = file_with_text(".plt", false, EM_X86_64, 2);
	struct made_section *s = add_relocations(f, SHT_RELA, TABLE);
	uint64_t symbols = f->sections[DYNSYM].n, dynamic = 3 * 16, all = 0;
	add_relocation(s, f, SLOTS, SYM_F, ANY_TYPE, 0);
	add_relocation(s, f, SLOTS + 64, SYM_F, ANY_TYPE, 0);
	s = add_relocations(f, SHT_REL, TABLE + 0x100);
	add_relocation(s, f, SLOTS + 8, SYM_G, ANY_TYPE, 0);
	add_dynamic(f, 0, 0);
	finish(f);
	for (uint64_t size = 0; size < 200; size++) {
		struct object_file *o = opened(f);
		uint64_t left = 4 * size;
		bool first = pay(&left, 48), has_symbols = first && pay(&left, symbols),
		     second = pay(&left, 16);
		has_symbols |= second && !first && pay(&left, symbols);
		(void)pay(&left, dynamic);
		bool code = pay(&left, 32);
		bool f_named = first && has_symbols && code && pay(&left, sizeof("f@plt"));
		bool g_named = second && has_symbols && code && pay(&left, sizeof("g@plt"));
		o->map_size = size;
		assert_int_equal(elf_load_plt(o, NULL), 0);
		const char *found = stubs_of(o);
		if ((strstr(found, "f@plt") != NULL) != f_named ||
		    (strstr(found, "g@plt") != NULL) != g_named)
			fail_msg("a file of %" PRIu64 " bytes: %s", size, found);
		all += f_named && g_named;
		o->map_size = f->n;
		object_close(o);
	}
	assert_in_range(all, 1, 199);
	free(f);
}

/* Whichever allocation fails, it is reported, and nothing is lost. */
static void load_without_memory(struct made_file *f, const char *want)
{
	long before = live, n = 0;
	finish(f);
	for (int err = -ENOMEM; err; n++) {
		struct object_file *o = opened(f);
		assert_int_equal(object_load_symbols(o, &o, 1), 0);
		allowed = n;
		err = elf_load_plt(o, NULL);
		allowed = -1;
		assert_int_equal(err, err ? -ENOMEM : 0);
		if (!err)
			assert_string_equal(stubs_of(o), want);
		object_close(o);
		assert_int_equal(live, before);
	}
	assert_true(n > 2);
	free(f);
}

TEST(no_memory)
{
	static const uint64_t entries[] = {BR, BR, 0};
	struct made_file *f = file_with_text(".plt", false, EM_X86_64, 20);
	struct made_section *s = add_relocations(f, SHT_RELA, TABLE);
	for (uint64_t i = 0; i < 18; i++)
		add_relocation(s, f, SLOTS + 8 * (i + 1), SYM_NONE, 0, 0);
	add_relocation(s, f, SLOTS + 8, SYM_F, ANY_TYPE, 0);
	add_relocation(s, f, SLOTS, SYM_NONE, R_X86_64_IRELATIVE, RESOLVER);
	s = add_symtab(f);
	add_symbol(s, f, NAME_A, RESOLVER, 0, IFUNC, 0, 4);
	load_without_memory(f, "1000+10 a@plt; 1010+10 f@plt");
	f = glink_file(EM_PPC64, true, CODE, 36, entries);
	add_glink_table(f, SHT_RELA, TABLE);
	add_dynamic(f, GLINK, TABLE);
	load_without_memory(f, "1024+4 f@plt; 1028+4 g@plt");
	f = plt_file(false, false, EM_MIPS);
	add_mips_stub(add_code(f, ".MIPS.stubs", CODE), f, SYM_F);
	load_without_memory(f, "1000+10 f@plt");
}
