/*
 * made_plt.h - ELF files with procedure linkage tables: symbols, relocations of slots, stubs of each machine.
 */
#ifndef TESTS_MADE_PLT_H
#define TESTS_MADE_PLT_H

#include "tests/unit/convert/object/elf/made_elf.h"

#include "convert/object/elf/elf.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif
#ifndef R_LARCH_IRELATIVE
#define R_LARCH_IRELATIVE 12
#endif
#ifndef R_PPC64_JMP_IREL
#define R_PPC64_JMP_IREL 247
#endif
#ifndef R_AARCH64_IRELATIVE
#define R_AARCH64_IRELATIVE 1032
#endif

enum {
	CODE = 0x1000,  /* where stubs are, */
	SLOTS = 0x2000, /* and what they jump through */
	TABLE = 0x3000, /* of relocations */
	RESOLVER = 0x1801,
	CODE_FLAGS = SHF_ALLOC | SHF_EXECINSTR,
	ANY_TYPE = 1, /* of a relocation: it need not be that of a jump slot */
};

/* Offsets of names in .dynstr, which are also the numbers of symbols in the order below. */
static const char dynstr[] = "\0f\0g\0hh@@V1\0@V1\0_i\0j";
static const uint32_t symbol_names[] = {0, 1, 3, 5, 12, 16, 0, 2, 1000, 19};

enum {
	SYM_NONE,
	SYM_F,
	SYM_G,
	SYM_VERSION,
	SYM_BARE_VERSION,
	SYM_I,
	SYM_NO_NAME,
	SYM_EMPTY,
	SYM_OUTSIDE,
	SYM_J
};

/* Sections that every file begins with. */
enum { DYNSYM = 1, DYNSTR = 2 };

static inline struct made_file *plt_file(bool wide, bool big, uint16_t machine)
{
	struct made_file *f = new_file(wide, big, ET_DYN, machine);
	struct made_section *s = new_section(f, ".dynsym", SHT_DYNSYM, SHF_ALLOC, 0);
	s->link = DYNSTR;
	s->align = 8;
	s->entry_size = wide ? 24 : 16;
	for (size_t i = 0; i < ARRAY_SIZE(symbol_names); i++)
		add_symbol(s, f, symbol_names[i], 0, 0, i ? GLOBAL_FUNC : 0, 0, SHN_UNDEF);
	add_bytes(new_section(f, ".dynstr", SHT_STRTAB, SHF_ALLOC, 0), dynstr, sizeof(dynstr));
	return f;
}

static inline struct made_section *add_relocations(struct made_file *f, uint32_t type, uint64_t addr)
{
	struct made_section *s =
		new_section(f, type == SHT_RELA ? ".rela.plt" : ".rel.plt", type, SHF_ALLOC, addr);
	s->link = DYNSYM;
	s->align = 8;
	s->entry_size = (f->wide ? 16 : 8) + (type != SHT_RELA ? 0 : f->wide ? 8 : 4);
	return s;
}

/* Little-endian files of 64-bit MIPS have the symbol before the types. */
static inline void add_relocation(struct made_section *s, const struct made_file *f, uint64_t slot,
				  uint64_t symbol, uint64_t type, uint64_t addend)
{
	bool swapped = f->machine == EM_MIPS && f->wide && !f->big;
	add(s, f, slot, f->wide ? 8 : 4);
	if (!f->wide)
		add(s, f, symbol << 8 | type, 4);
	else
		add(s, f, swapped ? symbol | type << 56 : symbol << 32 | type, 8);
	if (s->type == SHT_RELA)
		add(s, f, addend, f->wide ? 8 : 4);
}

static inline struct made_section *add_code(struct made_file *f, const char *name, uint64_t addr)
{
	return new_section(f, name, SHT_PROGBITS, CODE_FLAGS, addr);
}

static inline void add_word(struct made_section *s, bool big, uint64_t word)
{
	assert_true(s->n + 4 <= SECTION_DATA);
	put(s->data, &s->n, word, 4, big);
}

static inline void pad(struct made_section *s, size_t size)
{
	while (s->n % size)
		s->data[s->n++] = 0;
}

/* Code of these is little-endian in any file. */
static inline bool has_big_code(const struct made_file *f)
{
	bool little = f->machine == EM_AARCH64 || f->machine == EM_RISCV ||
		      (f->machine == EM_ARM && (f->flags & EF_ARM_BE8));
	return f->big && !little;
}

/* A stub of 16 bytes that jumps through @slot, which is about 0x1000 bytes behind it. */
static inline void add_stub(struct made_section *s, const struct made_file *f, uint64_t slot)
{
	uint64_t addr = s->addr + s->n, distance = slot - addr, low = slot & 0xfff;
	bool big = has_big_code(f);
	uint64_t words[4] = {0};
	switch (f->machine) {
	case EM_X86_64:
		add_bytes(s, "\xff\x25", 2);
		add_word(s, false, distance - 6);
		break;
	case EM_386:
		add_bytes(s, "\xff\x25", 2);
		add_word(s, false, slot);
		break;
	case EM_S390:
		add_bytes(s, "\xc0\x10", 2);
		add_word(s, true, distance / 2);
		add_bytes(s, "\xe3\x10\x10\0\0\x04\x07\xf1", 8);
		break;
	case EM_AARCH64:
		memcpy(words,
		       (uint64_t[]){0xb0000010, 0xf9400211 | low / 8 << 10, 0x91000210 | low << 10,
				    0xd61f0220},
		       sizeof(words));
		break;
	case EM_ARM:
		memcpy(words, (uint64_t[]){0xe28fc000, 0xe5bcf000 | (distance - 8)}, 2 * sizeof(*words));
		break;
	case EM_RISCV:
		memcpy(words,
		       (uint64_t[]){0x1e17, (f->wide ? 0xe3e03 : 0xe2e03) | (distance - 0x1000) << 20,
				    0x000e0367},
		       3 * sizeof(*words));
		break;
	case EM_LOONGARCH:
		memcpy(words,
		       (uint64_t[]){0x1c00002f, 0x28c001ef | ((distance - 0x1000) & 0xfff) << 10, 0x4c0001ed},
		       3 * sizeof(*words));
		break;
	case EM_PPC64:
		memcpy(words,
		       (uint64_t[]){0xe9820000 | ((slot - SLOTS - 0x8000) & 0xfffc), 0x7d8903a6, 0x4e800420},
		       3 * sizeof(*words));
		break;
	case EM_MIPS:
		memcpy(words, (uint64_t[]){0x3c0f0000, (f->wide ? 0xddf90000 : 0x8df90000) | slot},
		       2 * sizeof(*words));
		break;
	}
	for (size_t i = 0; i < 4 && words[0]; i++)
		add_word(s, big, words[i]);
	pad(s, 16);
}

/* ---- What is found ---- */

/* "addr+size name; ..." of the stubs; other symbols stay as they were. */
static inline const char *stubs_of(const struct object_file *o)
{
	static char text[1024];
	int n = 0;
	*text = 0;
	for (size_t i = 0; i < o->symbols.n; i++) {
		const struct symbol *s = &o->symbols.v[i];
		if (s->type != SYMBOL_STUB)
			continue;
		assert_true(s->global && !s->resolver && !s->dotted);
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%" PRIx64 "+%" PRIx64 " %s",
			      n ? "; " : "", s->addr, s->size, s->name);
	}
	return text;
}

/* Opens @f and frees it. */
static inline void expect(struct made_file *f, const char *what, const char *want)
{
	if (!f->n)
		finish(f);
	long before = live;
	struct object_file *o = opened(f);
	assert_int_equal(object_load_symbols(o, &o, 1), 0);
	assert_int_equal(elf_load_plt(o, NULL), 0);
	if (strcmp(stubs_of(o), want))
		fail_msg("%s: \"%s\", not \"%s\"", what, stubs_of(o), want);
	object_close(o);
	assert_int_equal(live, before);
	free(f);
}

#endif
