/*
 * Stubs of procedure linkage tables, in files made here: where they are, and which relocations name them, of
 * every machine. plt_stub.c, which decodes them, has tests of its own.
 */
#include "tests/lib/unit.h"
#include "tests/unit/convert/object/elf/made_plt.h"

/* ---- Machines ---- */

static const struct machine_case {
	const char *what;
	uint16_t machine;
	bool wide, big;
	uint32_t flags;
	uint32_t table;        /* type of the relocations */
	uint64_t irelative[2]; /* 0: there is none */
	unsigned size;         /* of a stub */
} machines[] = {
	{"x86_64", EM_X86_64, true, false, 0, SHT_RELA, {R_X86_64_IRELATIVE}, 16},
	{"x86_64, x32", EM_X86_64, false, false, 0, SHT_RELA, {R_X86_64_IRELATIVE}, 16},
	{"i386", EM_386, false, false, 0, SHT_REL, {R_386_IRELATIVE}, 16},
	{"aarch64", EM_AARCH64, true, false, 0, SHT_RELA, {R_AARCH64_IRELATIVE}, 16},
	{"aarch64, big-endian", EM_AARCH64, true, true, 0, SHT_RELA, {R_AARCH64_IRELATIVE}, 16},
	{"arm", EM_ARM, false, false, 0, SHT_REL, {R_ARM_IRELATIVE}, 16},
	{"arm, BE32", EM_ARM, false, true, 0, SHT_REL, {R_ARM_IRELATIVE}, 16},
	{"arm, BE8", EM_ARM, false, true, EF_ARM_BE8, SHT_REL, {R_ARM_IRELATIVE}, 16},
	{"arm, RELA", EM_ARM, false, false, 0, SHT_RELA, {R_ARM_IRELATIVE}, 16},
	{"riscv64", EM_RISCV, true, false, 0, SHT_RELA, {58}, 16},
	{"riscv32", EM_RISCV, false, false, 0, SHT_RELA, {58}, 16},
	{"riscv64, big-endian", EM_RISCV, true, true, 0, SHT_RELA, {58}, 16},
	{"loongarch", EM_LOONGARCH, true, false, 0, SHT_RELA, {R_LARCH_IRELATIVE}, 16},
	{"s390x", EM_S390, true, true, 0, SHT_RELA, {R_390_IRELATIVE}, 16},
	{"s390x, REL", EM_S390, true, true, 0, SHT_REL, {R_390_IRELATIVE}, 16},
	{"ppc64", EM_PPC64, true, true, 1, SHT_RELA, {R_PPC64_IRELATIVE, R_PPC64_JMP_IREL}, 12},
	{"ppc64le", EM_PPC64, true, false, 2, SHT_RELA, {R_PPC64_IRELATIVE, R_PPC64_JMP_IREL}, 12},
	{"mips64, little-endian", EM_MIPS, true, false, 0, SHT_RELA, {0}, 16},
	{"mips64", EM_MIPS, true, true, 0, SHT_RELA, {0}, 16},
	{"mips, little-endian", EM_MIPS, false, false, 0, SHT_REL, {0}, 16},
	{"mips", EM_MIPS, false, true, 0, SHT_REL, {0}, 16},
};

static struct made_file *machine_file(const struct machine_case *c)
{
	struct made_file *f = plt_file(c->wide, c->big, c->machine);
	f->flags = c->flags;
	struct made_section *got = new_section(f, ".got", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, SLOTS);
	for (int i = 0; i < 2; i++)
		add(got, f, RESOLVER + 0x10, c->wide ? 8 : 4);
	struct made_section *code = add_code(f, ".plt", CODE);
	add_stub(code, f, SLOTS + (c->wide ? 8 : 4));
	add_stub(code, f, SLOTS);
	return f;
}

TEST(every_machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		const struct machine_case *c = &machines[i];
		char want[64];
		struct made_file *f = machine_file(c);
		struct made_section *s = add_relocations(f, c->table, TABLE);
		add_relocation(s, f, SLOTS, SYM_G, ANY_TYPE, 0);
		add_relocation(s, f, SLOTS + (c->wide ? 8 : 4), SYM_F, ANY_TYPE, 0);
		snprintf(want, sizeof(want), "1000+%x f@plt; 1010+%x g@plt", c->size, c->size);
		expect(f, c->what, want);
	}
}

/* The address of a resolver is the addend, or in the slot. No other relocation without symbol counts. */
TEST(every_resolver)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		const struct machine_case *c = &machines[i];
		const uint64_t types[] = {c->irelative[0],
					  c->irelative[1],
					  12,
					  37,
					  42,
					  58,
					  61,
					  160,
					  246,
					  247,
					  248,
					  249,
					  11,
					  13,
					  36,
					  38,
					  41,
					  43,
					  57,
					  59,
					  60,
					  62,
					  159,
					  161,
					  1,
					  2,
					  1031,
					  1032,
					  1033};
		for (size_t k = 0; k < ARRAY_SIZE(types); k++) {
			char want[64] = "", what[64];
			bool is = types[k] && (types[k] == c->irelative[0] || types[k] == c->irelative[1]);
			uint64_t resolver = c->table == SHT_RELA ? RESOLVER : RESOLVER + 0x10;
			if (!c->wide && types[k] > 255)
				continue;
			struct made_file *f = machine_file(c);
			struct made_section *s = add_relocations(f, c->table, TABLE);
			add_relocation(s, f, SLOTS, SYM_NONE, types[k], RESOLVER);
			if (is)
				snprintf(want, sizeof(want), "1010+%x *ABS*+0x%" PRIx64 "@plt", c->size,
					 c->machine == EM_ARM ? resolver - 1 : resolver);
			snprintf(what, sizeof(what), "%s, type %" PRIu64, c->what, types[k]);
			expect(f, what, want);
		}
	}
}

/* Files that are not linked, and machines whose stubs are not known. */
TEST(no_machine)
{
	for (int relocatable = 0; relocatable < 2; relocatable++) {
		struct made_file *f = machine_file(&machines[0]);
		struct made_section *s = add_relocations(f, SHT_RELA, TABLE);
		add_relocation(s, f, SLOTS, SYM_F, ANY_TYPE, 0);
		if (relocatable)
			f->type = ET_REL;
		else
			f->machine = EM_SPARCV9;
		struct object_file *o = opened(f);
		/* Relocatable files get addresses of their own. */
		for (size_t i = 0; i < o->sections.n; i++)
			if (!strcmp(o->sections.v[i].name, ".plt"))
				o->sections.v[i].addr = CODE;
		long before = live;
		assert_int_equal(elf_load_plt(o, NULL), 0);
		assert_int_equal(o->symbols.n, 0);
		assert_int_equal(live, before);
		object_close(o);
		free(f);
	}
}

/* i386 addresses slots from %ebx: DT_PLTGOT, else .got.plt, else .got. */
TEST(base_register)
{
	static const struct {
		bool got, got_plt;
		uint64_t dynamic[4]; /* tags and values */
		uint16_t machine;
		uint64_t base; /* 0: no stub is found */
	} cases[] = {
		{true, false, {0}, EM_386, 0x5000},
		{true, true, {0}, EM_386, 0x6000},
		{false, true, {0}, EM_386, 0x6000},
		{false, false, {0}, EM_386, 0},
		{true, true, {DT_PLTGOT, 0x7000}, EM_386, 0x7000},
		{true, true, {DT_HASH, 0x7000}, EM_386, 0x6000},
		{true, true, {DT_HASH, 1, DT_PLTGOT, 0x7000}, EM_386, 0x7000},
		{false, false, {DT_PLTGOT, 0x7000}, EM_386, 0x7000},
		{true, true, {DT_NULL, 1, DT_PLTGOT, 0x7000}, EM_386, 0x6000},
		{true, false, {0}, EM_PPC64, 0x5000 + 0x8000},
		{true, true, {DT_PLTGOT, 0x7000}, EM_PPC64, 0x5000 + 0x8000},
		{false, true, {DT_PLTGOT, 0x7000}, EM_PPC64, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (uint64_t other = 0; other < 3; other++) {
			bool wide = cases[i].machine == EM_PPC64;
			struct made_file *f = plt_file(wide, false, cases[i].machine);
			struct made_section *code = add_code(f, ".plt", CODE), *s;
			char what[32], found[32];
			f->flags = 2;
			if (cases[i].got)
				add(new_section(f, ".got", SHT_PROGBITS, SHF_ALLOC, 0x5000), f, 0, 4);
			if (cases[i].got_plt)
				add(new_section(f, ".got.plt", SHT_PROGBITS, SHF_ALLOC, 0x6000), f, 0, 4);
			if (wide) {
				add_word(code, false, 0xe9820010);
				add_word(code, false, 0x7d8903a6);
				add_word(code, false, 0x4e800420);
			} else {
				add_bytes(code, "\xff\xa3\x10\0\0\0", 6);
			}
			s = new_section(f, ".dynamic", SHT_DYNAMIC, SHF_ALLOC, 0);
			s->align = 8;
			s->entry_size = wide ? 16 : 8;
			for (size_t k = 0; k < 4; k++)
				add(s, f, cases[i].dynamic[k], wide ? 8 : 4);
			s = add_relocations(f, SHT_RELA, TABLE);
			/* The base, and those next to it. */
			add_relocation(s, f, cases[i].base + 0xf + other, SYM_F, ANY_TYPE, 0);
			add_relocation(s, f, 0x8010, SYM_G, ANY_TYPE, 0); /* ppc64 from no .got */
			snprintf(what, sizeof(what), "case %zu, %" PRIu64, i, other);
			snprintf(found, sizeof(found), "1000+%zx f@plt", code->n);
			expect(f, what, cases[i].base && other == 1 ? found : "");
		}
}

/* ---- Relocation tables ---- */

/* A file of x86_64 with stubs of the slots 0x2000, 0x2008, ... */
static struct made_file *stub_file(size_t n, struct made_section **ret_code)
{
	struct made_file *f = plt_file(true, false, EM_X86_64);
	struct made_section *code = add_code(f, ".plt", CODE);
	for (size_t i = 0; i < n; i++)
		add_stub(code, f, SLOTS + 8 * i);
	if (ret_code)
		*ret_code = code;
	return f;
}

/* Which tables count: by their type, flags, and what they are linked to. */
TEST(tables)
{
	static const struct {
		const char *what;
		uint32_t type;
		uint64_t flags;
		uint32_t link;
		bool named;
	} cases[] = {
		{"RELA", SHT_RELA, SHF_ALLOC, DYNSYM, true},
		{"REL", SHT_REL, SHF_ALLOC, DYNSYM, true},
		{"RELA for a linker", SHT_RELA, 0, DYNSYM, false},
		{"REL for a linker", SHT_REL, SHF_WRITE, DYNSYM, false},
		{"another type", SHT_PROGBITS, SHF_ALLOC, DYNSYM, false},
		{"linked to strings", SHT_RELA, SHF_ALLOC, DYNSTR, false},
		{"linked to nothing", SHT_RELA, SHF_ALLOC, 0, false},
		{"linked to no section", SHT_RELA, SHF_ALLOC, 1000, false},
		{"linked to the highest number", SHT_RELA, SHF_ALLOC, UINT32_MAX, false},
		{"linked to itself", SHT_RELA, SHF_ALLOC, 4, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made_file *f = stub_file(1, NULL);
		struct made_section *s = add_relocations(f, cases[i].type, TABLE);
		s->flags = cases[i].flags;
		s->link = cases[i].link;
		add_relocation(s, f, SLOTS, SYM_F, ANY_TYPE, 0);
		expect(f, cases[i].what, cases[i].named ? "1000+10 f@plt" : "");
	}
}

/* Each table has its own symbols, which may also be those of .symtab. */
TEST(two_symbol_tables)
{
	for (unsigned order = 0; order < 8; order++) {
		struct made_file *f = stub_file(3, NULL);
		struct made_section *symtab = new_section(f, ".symtab", SHT_SYMTAB, 0, 0), *s;
		static const char strtab[] = "\0x\0y\0z";
		char want[64];
		symtab->align = 8;
		symtab->entry_size = 24;
		symtab->link = (uint32_t)f->n_sections;
		for (uint32_t i = 0; i < 4; i++)
			add_symbol(symtab, f, i ? 2 * i - 1 : 0, 0, 0, GLOBAL_FUNC, 0, SHN_UNDEF);
		add_bytes(new_section(f, ".strtab", SHT_STRTAB, 0, 0), strtab, sizeof(strtab));
		for (uint64_t i = 0; i < 3; i++) {
			s = add_relocations(f, SHT_RELA, TABLE + 0x100 * i);
			s->link = order >> i & 1 ? 4 : DYNSYM;
			add_relocation(s, f, SLOTS + 8 * i, i == 2 ? 1 : i + 1, ANY_TYPE, 0);
		}
		snprintf(want, sizeof(want), "1000+10 %c@plt; 1010+10 %c@plt; 1020+10 %c@plt",
			 order & 1 ? 'x' : 'f', order & 2 ? 'y' : 'g', order & 4 ? 'x' : 'f');
		expect(f, "two tables of symbols", want);
	}
}

TEST(names)
{
	static const struct {
		uint64_t symbol;
		const char *want;
	} cases[] = {
		{SYM_F, "1000+10 f@plt"},
		{SYM_J, "1000+10 j@plt"},
		{SYM_VERSION, "1000+10 hh@plt"},
		{SYM_I, "1000+10 _i@plt"},
		{SYM_BARE_VERSION, "1000+10 @plt"},
		{SYM_NO_NAME, ""},
		{SYM_EMPTY, ""},
		{SYM_OUTSIDE, ""},
		{SYM_J + 1, ""},
		{0x7fffffff, ""},
		{0x80000000, ""},
		{0x80000001, ""},
		{UINT32_MAX, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made_file *f = stub_file(1, NULL);
		struct made_section *s = add_relocations(f, SHT_RELA, TABLE);
		f->sections[DYNSTR].data[0] = 'x'; /* offset 0 is no name, whatever is there */
		add_relocation(s, f, SLOTS, cases[i].symbol, ANY_TYPE, 0);
		expect(f, cases[i].want, cases[i].want);
	}
}

/* In any order, in two tables; of several relocations of a slot the first counts. */
TEST(slots)
{
	struct made_file *f = stub_file(5, NULL);
	struct made_section *s = add_relocations(f, SHT_RELA, TABLE);
	add_relocation(s, f, SLOTS + 24, SYM_F, 7, 0);
	add_relocation(s, f, SLOTS, SYM_J, 6, 99);
	add_relocation(s, f, UINT64_MAX, SYM_J, 6, 0);
	add_relocation(s, f, SLOTS, SYM_F, 6, 0);
	s = add_relocations(f, SHT_REL, TABLE + 0x100);
	add_relocation(s, f, SLOTS + 8, SYM_G, 0, 0);
	add_relocation(s, f, SLOTS, SYM_G, 0, 0);
	add_relocation(s, f, 0, SYM_G, 0, 0);
	add_relocation(s, f, SLOTS + 23, SYM_G, 0, 0);
	add_relocation(s, f, SLOTS + 33, SYM_G, 0, 0);
	expect(f, "slots", "1000+10 j@plt; 1010+10 g@plt; 1030+10 f@plt");
	expect(stub_file(2, NULL), "no relocation", "");
	f = stub_file(2, NULL);
	add_relocations(f, SHT_RELA, TABLE);
	expect(f, "an empty table", "");
}

/* ---- Sections ---- */

TEST(sections)
{
	static const struct {
		const char *name;
		uint16_t machine;
		uint32_t type;
		uint64_t flags;
		bool scanned;
	} cases[] = {
		{".plt", EM_X86_64, SHT_PROGBITS, CODE_FLAGS, true},
		{".plt.sec", EM_X86_64, SHT_PROGBITS, CODE_FLAGS, true},
		{".plt.got", EM_X86_64, SHT_PROGBITS, CODE_FLAGS, true},
		{".iplt", EM_X86_64, SHT_PROGBITS, CODE_FLAGS, true},
		{".MIPS.stubs", EM_X86_64, SHT_PROGBITS, CODE_FLAGS, true},
		{".MIPS.stubs2", EM_X86_64, SHT_PROGBITS, CODE_FLAGS, false},
		{".pl", EM_X86_64, SHT_PROGBITS, CODE_FLAGS, false},
		{".ipl", EM_X86_64, SHT_PROGBITS, CODE_FLAGS, false},
		{"plt", EM_X86_64, SHT_PROGBITS, CODE_FLAGS, false},
		{".text", EM_X86_64, SHT_PROGBITS, CODE_FLAGS, false},
		{".text", EM_PPC64, SHT_PROGBITS, CODE_FLAGS, true},
		{".text", EM_PPC64, SHT_PROGBITS, SHF_ALLOC, false},
		{".plt", EM_X86_64, SHT_PROGBITS, SHF_ALLOC, false},
		{".plt", EM_X86_64, SHT_PROGBITS, SHF_EXECINSTR, false},
		{".plt", EM_X86_64, SHT_NOBITS, CODE_FLAGS, false},
		{".plt", EM_X86_64, SHT_PROGBITS, CODE_FLAGS | SHF_COMPRESSED, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made_file *f = plt_file(true, false, cases[i].machine);
		struct made_section *s = add_code(f, cases[i].name, CODE), *got;
		s->type = cases[i].type;
		s->flags = cases[i].flags;
		f->flags = 2;
		if (s->flags & SHF_COMPRESSED) {
			add(s, f, ELFCOMPRESS_ZLIB, 8);
			add(s, f, 16, 8);
			add(s, f, 1, 8);
			s->addr -= 24; /* what follows would be a stub */
			add_stub(s, f, SLOTS);
			s->addr += 24;
		} else {
			add_stub(s, f, SLOTS);
		}
		got = new_section(f, ".got", SHT_PROGBITS, SHF_ALLOC, SLOTS);
		add(got, f, 0, 8);
		s = add_relocations(f, SHT_RELA, TABLE);
		add_relocation(s, f, SLOTS, SYM_F, ANY_TYPE, 0);
		expect(f, cases[i].name,
		       !cases[i].scanned              ? ""
		       : cases[i].machine == EM_PPC64 ? "1000+c f@plt"
						      : "1000+10 f@plt");
	}
}

/* A section at the end of the address space, and one that would go on at its beginning. */
TEST(highest_addresses)
{
	for (uint64_t past = 0; past < 3; past++) {
		struct made_file *f = plt_file(true, false, EM_X86_64);
		uint64_t addr = UINT64_MAX - 16 + past;
		struct made_section *code = add_code(f, ".plt", addr), *s;
		add_stub(code, f, addr - 0x1000);
		s = add_relocations(f, SHT_RELA, TABLE);
		add_relocation(s, f, addr - 0x1000, SYM_F, ANY_TYPE, 0);
		expect(f, "the highest addresses", past ? "" : "ffffffffffffffef+10 f@plt");
	}
}

/* Where stubs begin, and where they end: at the next one, or with their section. */
TEST(places)
{
	static const struct {
		size_t at[3]; /* of stubs of 16 bytes; the last is repeated */
		size_t end;
		const char *want;
	} cases[] = {
		{{0, 0, 0}, 16, "1000+10 f@plt"},
		{{0, 0, 0}, 15, "1000+f f@plt"},
		{{0, 0, 0}, 6, "1000+6 f@plt"},
		{{0, 0, 0}, 5, ""},
		{{8, 8, 8}, 32, "1008+10 f@plt"},
		{{4, 4, 4}, 32, ""},
		{{0, 8, 8}, 40, "1000+8 f@plt; 1008+10 g@plt"},
		{{0, 16, 24}, 64, "1000+10 f@plt; 1010+8 g@plt; 1018+10 f@plt"},
		{{0, 24, 24}, 64, "1000+10 f@plt; 1018+10 g@plt"},
		{{0, 16, 16}, 22, "1000+10 f@plt; 1010+6 g@plt"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made_section *code, *s;
		struct made_file *f = stub_file(0, &code);
		for (size_t k = 0; k < 3; k++) {
			if (k && cases[i].at[k] == cases[i].at[k - 1])
				continue;
			code->n = cases[i].at[k];
			add_bytes(code, "\xff\x25", 2);
			add_word(code, false, SLOTS + k - (CODE + code->n + 4));
		}
		code->n = cases[i].end;
		s = add_relocations(f, SHT_RELA, TABLE);
		for (uint64_t k = 0; k < 3; k++)
			add_relocation(s, f, SLOTS + k, k == 1 ? SYM_G : SYM_F, ANY_TYPE, 0);
		expect(f, cases[i].want, cases[i].want);
	}
}

/* A stub with a prefix is also one without it, which is not listed again; one without a name hides none. */
TEST(prefixes)
{
	for (int named = 0; named < 2; named++) {
		struct made_file *f = plt_file(true, false, EM_AARCH64);
		struct made_section *code = add_code(f, ".plt", CODE), *s;
		for (int i = 0; i < 2; i++) {
			add_word(code, false, 0xd503245f); /* bti c */
			add_word(code, false, 0xb0000010);
			add_word(code, false, i ? 0xf9400611 : 0xf9400211);
			add_word(code, false, 0x91000210);
			add_word(code, false, 0xd61f0220);
		}
		s = add_relocations(f, SHT_RELA, TABLE);
		if (named)
			add_relocation(s, f, SLOTS, SYM_F, ANY_TYPE, 0);
		add_relocation(s, f, SLOTS + 8, SYM_G, ANY_TYPE, 0);
		expect(f, "prefixes", named ? "1000+14 f@plt; 1014+14 g@plt" : "1014+14 g@plt");
	}
}

/* Stubs end before the next of their own section only, and no other symbol does. */
TEST(sections_that_overlap)
{
	struct made_section *code, *s;
	struct made_file *f = stub_file(1, &code);
	for (int i = 0; i < 2; i++) {
		code = add_code(f, i ? ".plt.sec" : ".plt.got", i ? CODE - 8 : CODE + 8);
		add_stub(code, f, SLOTS + 8);
	}
	s = new_section(f, ".symtab", SHT_SYMTAB, 0, 0);
	s->align = 8;
	s->entry_size = 24;
	s->link = DYNSTR;
	add_symbol(s, f, 0, 0, 0, 0, 0, 0);
	add_symbol(s, f, 19, CODE - 4, 0x50, GLOBAL_FUNC, 0, 5);
	s = add_relocations(f, SHT_RELA, TABLE);
	add_relocation(s, f, SLOTS, SYM_F, ANY_TYPE, 0);
	add_relocation(s, f, SLOTS + 8, SYM_G, ANY_TYPE, 0);
	struct object_file *o = opened(f);
	assert_int_equal(object_load_symbols(o, &o, 1), 0);
	assert_int_equal(o->symbols.n, 1);
	assert_int_equal(elf_load_plt(o, NULL), 0);
	assert_string_equal(stubs_of(o), "1000+10 f@plt; 1008+10 g@plt; ff8+10 g@plt");
	assert_string_equal(o->symbols.v[0].name, "j");
	assert_int_equal(o->symbols.v[0].size, 0x50);
	object_close(o);
	free(f);
}
