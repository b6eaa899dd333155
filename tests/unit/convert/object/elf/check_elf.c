/* ELF files made in memory, of both classes and byte orders: sections, notes, symbols, relocations. */
#include "tests/unit/convert/object/elf/made_elf.h"

#include "convert/object/elf/elf.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "tests/lib/unit.h"
#include "tests/unit/wrap_malloc.h"

/*
 * ---- No memory ----
 *
 * memory_limit_note() is wrapped: the real one only keeps whether RLIMIT_DATA was reached, not the size.
 */

static bool mmap_fails;
static size_t noted; /* of the allocation that failed last */

void *__real_mmap64(void *at, size_t size, int protection, int how, int fd, off_t off);

void __wrap_memory_limit_note(size_t size)
{
	noted = size;
}

void *__wrap_mmap64(void *at, size_t size, int protection, int how, int fd, off_t off)
{
	return mmap_fails ? MAP_FAILED : __real_mmap64(at, size, protection, how, fd, off);
}

/* ---- Sections ---- */

TEST(flags)
{
	EACH_KIND(wide, big)
	{
		struct made_file *f = new_file(wide, big, ET_DYN, EM_X86_64);
		static const uint64_t bits[] = {SHF_ALLOC, SHF_EXECINSTR, SHF_GROUP};
		for (unsigned k = 0; k < 8; k++) {
			uint64_t all = 0;
			for (unsigned b = 0; b < 3; b++)
				all |= k >> b & 1 ? bits[b] : 0;
			add_bytes(new_section(f, "s", SHT_PROGBITS, all, 0x1000 + 0x10 * k), "1234", 4);
		}
		new_section(f, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000)->size = 0x100;
		struct object_file *o = opened(f);
		assert_int_equal(o->addr_size, wide ? 8 : 4);
		assert_int_equal(o->big_endian, big);
		assert_string_equal(o->arch, "x86_64");
		assert_false(o->relocatable);
		assert_false(o->has_base);
		assert_int_equal(o->sections.n, 10);
		for (unsigned k = 0; k < 8; k++) {
			const struct object_section *s = &o->sections.v[k];
			assert_int_equal(s->allocated, k & 1);
			assert_int_equal(s->code, (k & 3) == 3);
			assert_int_equal(s->grouped, k >> 2);
			assert_int_equal(s->addr, 0x1000 + 0x10 * k);
			assert_int_equal(s->raw.size, 4);
			assert_int_equal(s->full_size, 4);
			assert_memory_equal(s->raw.data, "1234", 4);
		}
		assert_int_equal(o->sections.v[8].size, 0x100);
		assert_int_equal(o->sections.v[8].raw.size, 0);
		assert_string_equal(o->sections.v[9].name, ".shstrtab");
		assert_int_equal(o->text.n, 3);
		assert_int_equal(o->text.v[0].lo, 0x1030);
		assert_int_equal(o->text.v[2].hi, 0x2100);
		assert_null(o->lost.what);
		object_close(o);
		free(f);
	}
}

/* Sections at the end of the file, and past it. */
TEST(ends)
{
	for (int over = 0; over < 4; over++) {
		struct made_file *f = new_file(true, false, ET_DYN, EM_X86_64);
		struct made_section *s = new_section(f, ".data", SHT_PROGBITS, SHF_ALLOC, 0x1000);
		finish(f);
		size_t n = f->n, header = n - 64 * f->n_sections + 64;
		s->off = over == 3 ? n + 1 : n - 8;
		s->size = over == 3 ? 1 : 8 + (uint64_t)over % 2;
		if (over == 2)
			s->size = UINT64_MAX - 2;
		store64(f->bytes + header + 24, s->off, false);
		store64(f->bytes + header + 32, s->size, false);
		struct object_file *o = opened(f);
		assert_int_equal(o->sections.v[0].raw.size, over ? 0 : 8);
		if (!over) {
			assert_null(o->lost.what);
		} else {
			assert_string_equal(o->lost.what, "section");
			assert_int_equal(o->lost.number, 1);
			assert_int_equal(o->lost.off, s->off);
			assert_true(o->lost.end == (over == 2 ? UINT64_MAX : s->off + s->size));
		}
		object_close(o);
		free(f);
	}
}

TEST(compressed)
{
	EACH_KIND(wide, big)
	{
		struct made_file *f = new_file(wide, big, ET_DYN, EM_X86_64);
		for (unsigned type = 0; type < 4; type++) {
			struct made_section *s =
				new_section(f, ".debug_info", SHT_PROGBITS, SHF_COMPRESSED, 0);
			add(s, f, type, wide ? 4 : 4);
			if (wide)
				add(s, f, 0xeeeeeeee, 4);
			add(s, f, 1000 + type, wide ? 8 : 4);
			add(s, f, 1, wide ? 8 : 4);
			if (type != 3)
				add_bytes(s, "rest", 4);
			else
				s->n--;
		}
		add_bytes(new_section(f, ".zdebug_line", SHT_PROGBITS, 0, 0), "ZLIB\0\0\0\0\0\0\0\7x", 13);
		struct object_file *o = opened(f);
		static const enum compression want[] = {COMPRESSION_UNKNOWN, COMPRESSION_ZLIB,
							COMPRESSION_ZSTD, COMPRESSION_UNKNOWN,
							COMPRESSION_ZLIB};
		for (size_t i = 0; i < 5; i++) {
			const struct object_section *s = &o->sections.v[i];
			assert_int_equal(s->compression, want[i]);
			if (i < 3) {
				assert_int_equal(s->full_size, 1000 + i);
				assert_int_equal(s->raw.size, 4);
				assert_memory_equal(s->raw.data, "rest", 4);
			}
		}
		assert_int_equal(o->sections.v[3].raw.size, wide ? 23 : 11);
		assert_int_equal(o->sections.v[4].full_size, 7);
		object_close(o);
		free(f);
	}
}

/* The layout of a relocatable file: one after the other, aligned; what is not loaded has no place. */
TEST(layout)
{
	static const struct {
		uint64_t flags, size, align, want;
	} table[] = {
		{SHF_ALLOC, 5, 0, 0},
		{SHF_ALLOC, 3, 1, 5},
		{0, 100, 16, 0x700},
		{SHF_ALLOC, 1, 16, 16},
		{SHF_ALLOC, 10, 3, 0x700},
		{SHF_ALLOC, 7, 4, 20},
		{SHF_ALLOC, UINT64_MAX - 28, 2, 28},
		{SHF_ALLOC, 9, 1, UINT64_MAX},
		{SHF_ALLOC, 9, 2, 0x700},
	};
	for (int relocatable = 0; relocatable < 2; relocatable++) {
		struct made_file *f = new_file(true, false, relocatable ? ET_REL : ET_DYN, EM_X86_64);
		for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
			struct made_section *s = new_section(f, "s", SHT_NOBITS, table[i].flags, 0x700);
			s->size = table[i].size;
			s->align = table[i].align;
		}
		struct object_file *o = opened(f);
		assert_int_equal(o->relocatable, relocatable);
		for (size_t i = 0; i < ARRAY_SIZE(table); i++)
			if (o->sections.v[i].addr != (relocatable ? table[i].want : 0x700))
				fail_msg("section %zu is at 0x%llx", i,
					 (unsigned long long)o->sections.v[i].addr);
		object_close(o);
		free(f);
	}
}

/* ---- Segments and notes ---- */

TEST(segments)
{
	EACH_KIND(wide, big)
	{
		struct made_file *f = new_file(wide, big, ET_EXEC, EM_ARM);
		f->n_segments = 4;
		f->segments[0] = (struct made_segment){PT_INTERP, 1, 0x100, 5, 1};
		f->segments[1] = (struct made_segment){PT_LOAD, 2, 0x5000, 0, 1};
		f->segments[2] = (struct made_segment){PT_LOAD, 3, 0x3000, 7, 1};
		f->segments[3] = (struct made_segment){PT_LOAD, 4, 0x7000, 8, 1};
		struct object_file *o = opened(f);
		assert_true(o->has_base);
		assert_int_equal(o->base_address, 0x5000);
		assert_int_equal(o->segments.n, 2);
		assert_int_equal(o->segments.v[0].off, 3);
		assert_int_equal(o->segments.v[0].addr, 0x3000);
		assert_int_equal(o->segments.v[0].size, 7);
		assert_int_equal(o->segments.v[1].off, 4);
		assert_int_equal(o->mode_bits, 1);
		assert_string_equal(o->arch, "arm");
		object_close(o);
		free(f);
	}
	struct made_file *f = new_file(true, false, ET_EXEC, 0x7777);
	struct object_file *o = opened(f);
	assert_string_equal(o->arch, "em-30583");
	assert_int_equal(o->mode_bits, 0);
	object_close(o);
	free(f);
}

static void add_note(struct made_section *s, const struct made_file *f, uint32_t type, const char *owner,
		     size_t owner_size, size_t size, uint8_t fill)
{
	size_t align = s->align == 8 ? 8 : 4, head = s->n + 12;
	add(s, f, owner_size, 4);
	add(s, f, size, 4);
	add(s, f, type, 4);
	add_bytes(s, owner, owner_size);
	while ((s->n - head + 12) % align || s->n % align)
		add(s, f, 0, 1);
	for (size_t i = 0; i < size; i++)
		add(s, f, fill, 1);
	while (s->n % align)
		add(s, f, 0, 1);
}

static void assert_id(struct made_file *f, size_t size, uint8_t fill)
{
	struct object_file *o = opened(f);
	assert_int_equal(o->id_size, size);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(o->id[i], fill);
	object_close(o);
	free(f);
}

/* The first of GNU's that is not too long is the id, of sections before segments. */
TEST(notes)
{
	EACH_KIND(wide, big)
	for (uint64_t align = 4; align <= 8; align += 4) {
		struct made_file *f = new_file(wide, big, ET_DYN, EM_X86_64);
		struct made_section *s = new_section(f, ".data", SHT_PROGBITS, 0, 0);
		s->align = align;
		add_note(s, f, NT_GNU_BUILD_ID, "GNU", 4, 20, 0x99);
		s = new_section(f, ".notes", SHT_NOTE, SHF_ALLOC, 0x100);
		s->align = align;
		add_note(s, f, NT_GNU_BUILD_ID, "GNV", 4, 20, 0x11);
		add_note(s, f, NT_GNU_BUILD_ID, "GNU\0", 5, 20, 0x12);
		add_note(s, f, NT_GNU_BUILD_ID + 1, "GNU", 4, 20, 0x13);
		add_note(s, f, NT_GNU_BUILD_ID, "GNU", 4, IMAGE_ID_MAX + 1, 0x14);
		add_note(s, f, NT_GNU_BUILD_ID, "GNU", 4, IMAGE_ID_MAX, 0x15);
		add_note(s, f, NT_GNU_BUILD_ID, "GNU", 4, 20, 0x16);
		finish(f);
		f->n_segments = 0;
		assert_id(f, IMAGE_ID_MAX, 0x15);
	}
	for (int which = 0; which < 4; which++) {
		struct made_file *f = new_file(true, false, ET_DYN, EM_X86_64);
		struct made_section *s =
			new_section(f, ".note", which ? SHT_PROGBITS : SHT_NOTE, SHF_ALLOC, 0x100);
		add_note(s, f, NT_GNU_BUILD_ID, "GNU", 4, 8, 0x21);
		s = new_section(f, ".other", SHT_PROGBITS, SHF_ALLOC, 0x200);
		add_note(s, f, NT_GNU_BUILD_ID, "GNU", 4, 8, 0x22);
		uint64_t off = 64 + 56; /* of the first section, which has 24 bytes; the other follows */
		f->n_segments = 1;
		f->segments[0] = (struct made_segment){which == 2 ? PT_TLS : PT_NOTE, off + 24, 0x200,
						       which == 3 ? FILE_MOST : 24, 4};
		assert_id(f, which < 2 ? 8 : 0, which ? 0x22 : 0x21);
	}
}

/* ---- Symbols ---- */

/* "addr+size name", marks after it: g global, n label, r resolver, . dotted. */
static void assert_symbols(const struct object_file *o, const char *want)
{
	char text[4096] = "";
	for (size_t i = 0; i < o->symbols.n; i++) {
		const struct symbol *s = &o->symbols.v[i];
		size_t n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%s%llx+%llx %s%s%s%s%s", i ? "; " : "",
			 (unsigned long long)s->addr, (unsigned long long)s->size, s->name,
			 s->global ? " g" : "", s->type == SYMBOL_NOTYPE ? " n" : "", s->resolver ? " r" : "",
			 s->dotted ? " ." : "");
	}
	assert_string_equal(text, want);
}

static void assert_outside(const struct object_file *o, const char *want)
{
	char text[1000] = "";
	for (size_t i = 0; i < o->outside.n; i++) {
		size_t n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%s%llx %s", i ? "; " : "",
			 (unsigned long long)o->outside.v[i].addr, o->outside.v[i].name);
	}
	assert_string_equal(text, want);
}

static const char strings[] = "\0f\0.g\0..h\0.Li\0$j\0k";

/* .text of 0x100 bytes, .more of code after it, .data, .debug; then a table with its strings. */
static struct made_section *add_table(struct made_file *f, uint32_t type)
{
	static const uint8_t code[0x100];
	if (f->n_sections == 1) {
		add_bytes(new_section(f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000), code,
			  0x100);
		add_bytes(new_section(f, ".more", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1100), code,
			  0x40);
		add_bytes(new_section(f, ".data", SHT_PROGBITS, SHF_ALLOC, 0x2000), code, 0x40);
		add_bytes(new_section(f, ".debug", SHT_PROGBITS, 0, 0), code, 0x40);
	}
	struct made_section *s = new_section(f, type == SHT_SYMTAB ? ".symtab" : ".dynsym", type, 0, 0);
	s->link = (uint32_t)f->n_sections;
	s->entry_size = f->wide ? 24 : 16;
	s->align = 8;
	add_bytes(new_section(f, ".strtab", SHT_STRTAB, 0, 0), strings, sizeof(strings));
	add_symbol(s, f, 1, 0x1000, 0, GLOBAL_FUNC, 0, 1);
	return s;
}

static struct object_file *loaded(struct made_file *f, const range_vec *near)
{
	struct object_file *o = opened(f);
	o->near = near;
	assert_int_equal(object_load_symbols(o, &o, 1), 0);
	return o;
}

TEST(which_symbols)
{
	EACH_KIND(wide, big)
	{
		struct made_file *f = new_file(wide, big, ET_DYN, EM_X86_64);
		struct made_section *s = add_table(f, SHT_SYMTAB);
		add_symbol(s, f, 1, 0x1010, 4, LOCAL_FUNC, 0, 1);
		add_symbol(s, f, 3, 0x1011, 5, GLOBAL_LABEL, 0, 1);
		add_symbol(s, f, 1, 0x1012, 6, IFUNC, 0, 1);
		add_symbol(s, f, 0, 0x1013, 0, GLOBAL_FUNC, 0, 1); /* no name */
		add_symbol(s, f, sizeof(strings), 0x1013, 0, GLOBAL_FUNC, 0, 1);
		add_symbol(s, f, 1, 0x1013, 0, STT_OBJECT, 0, 1);
		add_symbol(s, f, 1, 0x1013, 0, STT_SECTION, 0, 1);
		add_symbol(s, f, 1, 0x1013, 0, STT_FILE, 0, 1);
		add_symbol(s, f, 1, 0x1013, 0, STT_TLS, 0, 1);
		add_symbol(s, f, 1, 0x1013, 0, GLOBAL_FUNC, 0, SHN_UNDEF);
		add_symbol(s, f, 1, 0x1013, 0, GLOBAL_FUNC, 0, SHN_COMMON);
		add_symbol(s, f, 1, 0x1014, 0, GLOBAL_FUNC, 0, SHN_ABS);
		add_symbol(s, f, 1, 0x1015, 0, GLOBAL_LABEL, 0, SHN_ABS); /* a number */
		add_symbol(s, f, 1, 0x1016, 0, GLOBAL_FUNC, 0, 4);        /* an offset in debug data */
		add_symbol(s, f, 1, 0x2000, 0, GLOBAL_FUNC, 0, 3);        /* in no code */
		add_symbol(s, f, 1, 0x2001, 0, GLOBAL_LABEL, 0, 3);
		add_symbol(s, f, 1, 0x2002, 1, GLOBAL_LABEL, 0, 3);
		add_symbol(s, f, 10, 0x2003, 0, GLOBAL_LABEL, 0, 3); /* compilers' own */
		add_symbol(s, f, 14, 0x2004, 0, GLOBAL_LABEL, 0, 3);
		add_symbol(s, f, 3, 0x1100, 0, GLOBAL_LABEL, 0, 1); /* past its section */
		add_symbol(s, f, 3, 0x10ff, 0, GLOBAL_LABEL, 0, 1);
		add_symbol(s, f, 3, 0x1100, 0, GLOBAL_LABEL, 0, 2);
		add_symbol(s, f, 3, 0x1020, 0, GLOBAL_LABEL, 0, 3);  /* its section is no code */
		add_symbol(s, f, 3, 0x1021, 0, GLOBAL_LABEL, 0, 90); /* there is no such section */
		add_symbol(s, f, 17, 0x113f, 9, GLOBAL_FUNC, 0, 2);
		add_symbol(s, f, 17, 0x1140, 9, GLOBAL_FUNC, 0, 2);
		add_symbol(s, f, 17, 0x0fff, 9, GLOBAL_FUNC, 0, 1);
		struct object_file *o = loaded(f, NULL);
		assert_true(object_has_symbols(o));
		assert_symbols(
			o, "1010+4 f; 1011+5 .g g n; 1012+6 f g r; 1014+0 f g; 10ff+0 .g g n; 1100+0 .g g n; "
			   "1020+0 .g g n; 1021+0 .g g n; 113f+9 k g");
		assert_outside(o, "2001 f; 1100 .g");
		assert_false(o->passed_by || o->symbols_damaged || o->names_exceeded);
		object_close(o);
		free(f);
	}
}

/* Only what touches the ranges that are asked for. */
TEST(near_symbols)
{
	struct range ranges[] = {{0x1010, 0x1020}, {0x1030, 0x1031}};
	range_vec near = {ranges, 2, 2};
	static const struct {
		uint64_t addr, size;
		bool near;
	} table[] = {{0x100f, 0, false}, {0x100f, 1, false},   {0x100f, 2, true},         {0x1010, 0, true},
		     {0x101f, 0, true},  {0x1020, 0, false},   {0x1020, 16, false},       {0x1020, 17, true},
		     {0x1030, 0, true},  {0x1031, 100, false}, {0x1005, UINT64_MAX, true}};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct made_file *f = new_file(true, false, ET_DYN, EM_X86_64);
		add_symbol(add_table(f, SHT_SYMTAB), f, 1, table[i].addr, table[i].size, GLOBAL_FUNC, 0, 1);
		struct object_file *o = loaded(f, &near);
		assert_int_equal(o->symbols.n, table[i].near);
		assert_int_equal(o->passed_by, !table[i].near);
		object_close(o);
		free(f);
	}
}

/* Bit 0 of addresses of code: Thumb functions, MIPS16 and microMIPS. */
TEST(mode_bits)
{
	static const struct {
		uint16_t machine;
		unsigned info, other;
		bool cleared;
	} table[] = {
		{EM_X86_64, GLOBAL_FUNC, 0, false},   {EM_ARM, GLOBAL_FUNC, 0, true},
		{EM_ARM, GLOBAL_LABEL, 0, false},     {EM_ARM, IFUNC, 0, true},
		{EM_MIPS, GLOBAL_FUNC, 0, true},      {EM_MIPS, GLOBAL_LABEL, 0, false},
		{EM_MIPS, GLOBAL_LABEL, 0x80, true},  {EM_MIPS, GLOBAL_LABEL, 0xf0, true},
		{EM_MIPS, GLOBAL_LABEL, 0x40, false}, {EM_ARM, GLOBAL_LABEL, 0x80, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct made_file *f = new_file(false, true, ET_DYN, table[i].machine);
		add_symbol(add_table(f, SHT_SYMTAB), f, 1, 0x1011, 0, table[i].info, table[i].other, 1);
		struct object_file *o = loaded(f, NULL);
		assert_int_equal(o->symbols.n, 1);
		assert_int_equal(o->symbols.v[0].addr, table[i].cleared ? 0x1010 : 0x1011);
		object_close(o);
		free(f);
	}
}

/* The table for dynamic linking names what the other one does not. */
TEST(dynamic_symbols)
{
	for (int both = 0; both < 2; both++) {
		struct made_file *f = new_file(true, false, ET_DYN, EM_X86_64);
		struct made_section *s;
		if (both) {
			s = add_table(f, SHT_SYMTAB);
			add_symbol(s, f, 1, 0x1030, 0, GLOBAL_FUNC, 0, 1);
			add_symbol(s, f, 1, 0x1010, 0, GLOBAL_FUNC, 0, 1);
		}
		s = add_table(f, SHT_DYNSYM);
		for (uint64_t addr = 0x1040; addr > 0x1000; addr -= 0x10)
			add_symbol(s, f, 17, addr, 0, GLOBAL_FUNC, 0, 1);
		struct object_file *o = loaded(f, NULL);
		assert_symbols(o, both ? "1030+0 f g; 1010+0 f g; 1040+0 k g; 1020+0 k g"
				       : "1040+0 k g; 1030+0 k g; 1020+0 k g; 1010+0 k g");
		assert_int_equal(o->name_bytes, both ? 2 * 6 : 2 * 4);
		object_close(o);
		free(f);
	}
}

/* Strings that do not end, or are no strings, name nothing; a table that is not there is damage. */
TEST(damaged_tables)
{
	for (int k = 0; k < 4; k++) {
		struct made_file *f = new_file(true, false, ET_DYN, EM_X86_64);
		struct made_section *s = add_table(f, SHT_SYMTAB);
		add_symbol(s, f, 1, 0x1010, 0, GLOBAL_FUNC, 0, 1);
		add_symbol(s, f, 17, 0x1020, 0, GLOBAL_FUNC, 0, 1);
		if (k == 1)
			f->sections[s->link].n -= 1; /* the NUL after the last */
		if (k == 2)
			f->sections[s->link].type = SHT_PROGBITS;
		if (k == 3)
			s->off = FILE_MOST * 2;
		struct object_file *o = loaded(f, NULL);
		assert_symbols(o, k == 0 ? "1010+0 f g; 1020+0 k g" : k == 1 ? "1010+0 f g" : "");
		assert_int_equal(o->symbols_damaged, k == 3);
		object_close(o);
		free(f);
	}
}

/* A symbol whose section has a number of more than 16 bits, in the table of such numbers; two are noted. */
TEST(section_numbers)
{
	static const uint8_t code[0x40];
	for (uint32_t others = 0; others < 3; others++) {
		struct made_file *f = new_file(true, false, ET_REL, EM_X86_64);
		struct made_section *s;
		for (int i = 0; i < 2; i++)
			add_bytes(new_section(f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0), code,
				  0x40);
		s = new_section(f, ".symtab", SHT_SYMTAB, 0, 0);
		s->link = 4;
		s->entry_size = 24;
		s->align = 8;
		add_symbol(s, f, 0, 0, 0, 0, 0, 0);
		add_symbol(s, f, 1, 0x10, 0, GLOBAL_FUNC, 0, SHN_XINDEX);
		add_bytes(new_section(f, ".strtab", SHT_STRTAB, 0, 0), strings, sizeof(strings));
		for (uint32_t i = 0; i <= others; i++) {
			s = new_section(f, ".symtab_shndx", SHT_SYMTAB_SHNDX, 0, 0);
			s->link = i < others ? 2 : 3; /* of the others: there is no such symbol table */
			s->entry_size = s->align = 4;
			add(s, f, 0, 4);
			add(s, f, 2, 4);
		}
		struct object_file *o = loaded(f, NULL);
		assert_symbols(o, others < 2 ? "50+0 f g" : "10+0 f g");
		object_close(o);
		free(f);
	}
}

/* Whichever allocation fails, it is reported, and nothing is lost. */
TEST(symbols_without_memory)
{
	struct made_file *f = new_file(true, true, ET_DYN, EM_PPC64);
	struct made_section *s = add_table(f, SHT_SYMTAB), *opd;
	add_symbol(s, f, 4, 0x3000, 24, GLOBAL_FUNC, 0, 7);
	add_symbol(s, f, 3, 0x1010, 4, GLOBAL_FUNC, 0, 1);
	add_symbol(s, f, 14, 0x2000, 0, GLOBAL_LABEL, 0, 3);
	add_symbol(s, f, 17, 0x2001, 0, GLOBAL_LABEL, 0, 3);
	opd = new_section(f, ".opd", SHT_PROGBITS, SHF_ALLOC, 0x3000);
	add(opd, f, 0x1010, 8);
	s = add_table(f, SHT_DYNSYM);
	add_symbol(s, f, 17, 0x1020, 0, GLOBAL_FUNC, 0, 1);
	finish(f);
	for (int loads = 0; loads < 2; loads++) {
		long n = 0, before = live;
		for (int err = -ENOMEM; err; n++) {
			struct object_file *o = NULL;
			struct gsym_diag diag = {""};
			allowed = loads ? -1 : n;
			err = object_open_memory(f->bytes, f->n, "made", &o, &diag);
			if (err)
				assert_string_equal(diag.text, "made: out of memory");
			allowed = loads ? n : -1;
			if (loads)
				err = object_load_symbols(o, &o, 1);
			allowed = -1;
			assert_int_equal(err, err ? -ENOMEM : 0);
			if (loads && !err)
				assert_symbols(o, "1010+4 g g .; 1020+0 k g");
			object_close(o);
			assert_int_equal(live, before);
		}
		assert_true(n > 4);
	}
	free(f);
}

/* ---- Function descriptors ---- */

TEST(descriptors)
{
	for (unsigned k = 0; k < 4; k++) {
		struct made_file *f = new_file(true, true, ET_DYN, k == 1 ? EM_X86_64 : EM_PPC64);
		struct made_section *s = add_table(f, SHT_SYMTAB), *opd;
		f->flags = k == 2 ? 2 : 1;
		add_symbol(s, f, 4, 0x3000, 24, GLOBAL_FUNC, 0, 7);   /* g */
		add_symbol(s, f, 3, 0x1010, 0x20, GLOBAL_FUNC, 0, 1); /* .g */
		add_symbol(s, f, 1, 0x3018, 24, GLOBAL_FUNC, 0, 7);   /* f */
		add_symbol(s, f, 17, 0x3020, 24, GLOBAL_FUNC, 0, 7);  /* k: a part of a descriptor */
		add_symbol(s, f, 4, 0x3028, 24, GLOBAL_LABEL, 0, 7);  /* cut */
		add_symbol(s, f, 6, 0x1060, 4, GLOBAL_FUNC, 0, 1);    /* ..h */
		add_symbol(s, f, 10, 0x1070, 4, GLOBAL_FUNC, 0, 1);   /* .Li */
		opd = new_section(f, ".opd", SHT_PROGBITS, SHF_ALLOC | (k == 3 ? SHF_EXECINSTR : 0), 0x3000);
		add(opd, f, 0x1010, 8);
		add(opd, f, 0x9999, 8);
		add(opd, f, 0, 8);
		add(opd, f, 0x1040, 8);
		add(opd, f, 0x1050, 8);
		add(opd, f, 0x1058, 7);
		struct object_file *o = loaded(f, NULL);
		if (k == 0)
			assert_symbols(o,
				       "1010+20 g g .; 1040+18 f g; 1050+18 k g; 1060+4 ..h g; 1070+4 .Li g");
		else if (k == 3)
			assert_symbols(o,
				       "3000+18 g g; 1010+20 .g g; 3018+18 f g; 3020+18 k g; 3028+18 g g n; "
				       "1060+4 ..h g; 1070+4 .Li g");
		else
			assert_symbols(o, "1010+20 .g g; 1060+4 ..h g; 1070+4 .Li g");
		object_close(o);
		free(f);
	}
}

/* ---- Relocations ---- */

struct made_relocation {
	uint64_t off, symbol, type;
	int64_t addend;
};

/*
 * .debug_info of 24 bytes 0x10, 0x11..., to which relocations against a symbol of the value 0x20 apply, in a
 * section at 0x40; returns what becomes of it.
 */
static struct object_file *relocated(struct made_file *f, bool rela, const struct made_relocation *v,
				     size_t n, uint64_t *skipped)
{
	struct made_section *pad = new_section(f, ".pad", SHT_NOBITS, SHF_ALLOC, 0), *info, *table, *symbols;
	pad->size = 0x40;
	new_section(f, ".text", SHT_NOBITS, SHF_ALLOC, 0)->size = 0x100;
	info = new_section(f, ".debug_info", SHT_PROGBITS, 0, 0);
	for (uint64_t i = 0; i < 24; i++)
		add(info, f, 0x10 + i, 1);
	symbols = new_section(f, ".symtab", SHT_SYMTAB, 0, 0);
	symbols->entry_size = f->wide ? 24 : 16;
	symbols->align = 8;
	add_symbol(symbols, f, 0, 0, 0, 0, 0, 0);
	add_symbol(symbols, f, 0, 0x20, 0, STT_SECTION, 0, 2);
	add_symbol(symbols, f, 0, 0x21, 0, 0, 0, SHN_ABS);
	table = new_section(f, ".rela", rela ? SHT_RELA : SHT_REL, 0, 0);
	table->link = 4;
	table->info = 3;
	table->align = 8;
	size_t word = f->wide ? 8 : 4;
	table->entry_size = word * (rela ? 3 : 2);
	for (size_t i = 0; i < n; i++) {
		add(table, f, v[i].off, word);
		add(table, f, f->wide ? v[i].symbol << 32 | v[i].type : v[i].symbol << 8 | v[i].type, word);
		if (rela)
			add(table, f, (uint64_t)v[i].addend, word);
	}
	struct object_file *o = opened(f);
	*skipped = 0;
	assert_int_equal(section_load(&o->sections.v[2]), 0);
	assert_int_equal(section_relocate(o, &o->sections.v[2], skipped), 0);
	return o;
}

static uint64_t number_at(const struct object_file *o, uint64_t off, unsigned size)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < size; i++)
		v |= (uint64_t)o->sections.v[2].data.data[off + i] << 8 * (o->big_endian ? size - 1 - i : i);
	return v;
}

/* What a place of @size bytes has before. */
static uint64_t number_before(uint64_t off, unsigned size, bool big)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < size; i++)
		v |= (0x10 + off + i) << 8 * (big ? size - 1 - i : i);
	return v;
}

TEST(places)
{
	static const struct {
		uint16_t machine;
		uint64_t type;
		unsigned size;
		char action; /* Set, Pcrel, Add, suBtract, None */
	} table[] = {
		{EM_X86_64, R_X86_64_64, 8, 'S'},
		{EM_X86_64, R_X86_64_32, 4, 'S'},
		{EM_X86_64, R_X86_64_16, 2, 'S'},
		{EM_X86_64, R_X86_64_8, 1, 'S'},
		{EM_X86_64, R_X86_64_PC32, 4, 'P'},
		{EM_X86_64, R_X86_64_PC64, 8, 'P'},
		{EM_X86_64, R_X86_64_DTPOFF64, 8, 'N'},
		{EM_RISCV, R_RISCV_ADD64, 8, 'A'},
		{EM_RISCV, R_RISCV_ADD32, 4, 'A'},
		{EM_RISCV, R_RISCV_ADD16, 2, 'A'},
		{EM_RISCV, R_RISCV_ADD8, 1, 'A'},
		{EM_RISCV, R_RISCV_SUB64, 8, 'B'},
		{EM_RISCV, R_RISCV_SUB32, 4, 'B'},
		{EM_RISCV, R_RISCV_SUB16, 2, 'B'},
		{EM_RISCV, R_RISCV_SUB8, 1, 'B'},
		{EM_RISCV, R_RISCV_SET16, 2, 'S'},
		{EM_AARCH64, R_AARCH64_ABS64, 8, 'S'},
		{EM_AARCH64, R_AARCH64_PREL32, 4, 'P'},
		{EM_SPARCV9, R_SPARC_UA64, 8, 'S'},
		{EM_SPARCV9, 0x7700 | R_SPARC_UA32, 4, 'S'}, /* with data of its own in the upper bits */
	};
	for (int big = 0; big < 2; big++)
		for (int rela = 0; rela < 2; rela++)
			for (size_t t = 0; t < ARRAY_SIZE(table); t++)
				for (uint64_t off = 0; off <= 24; off += off == 3 ? 24 - table[t].size - 3
									 : off    ? 1
										  : 3) {
					struct made_file *f = new_file(true, big, ET_REL, table[t].machine);
					struct made_relocation r = {off, 1, table[t].type, -5};
					unsigned size = table[t].size;
					uint64_t skipped,
						mask = size == 8 ? UINT64_MAX : (1ULL << 8 * size) - 1;
					struct object_file *o = relocated(f, rela, &r, 1, &skipped);
					bool fits = off + size <= 24, set = strchr("SP", table[t].action);
					uint64_t old = fits ? number_before(off, size, big) : 0;
					uint64_t value = 0x60 + (rela ? (uint64_t)-5 : set ? old : 0);
					switch (table[t].action) {
					case 'P': value -= off; break;
					case 'A': value = old + value; break;
					case 'B': value = old - value; break;
					case 'N': value = old; break;
					}
					assert_int_equal(skipped, !fits);
					if (fits)
						assert_true(number_at(o, off, size) == (value & mask));
					for (uint64_t i = 0; i < 24; i++)
						if (!fits || i < off || i >= off + size)
							assert_int_equal(number_at(o, i, 1), 0x10 + i);
					object_close(o);
					free(f);
				}
}

/* Numbers of six bits, and of seven a byte, which keep the other bits and their length. */
TEST(odd_places)
{
	static const struct {
		uint16_t machine;
		uint64_t type;
		char action;
		bool leb;
	} table[] = {
		{EM_RISCV, R_RISCV_SUB6, 'B', false},
		{EM_RISCV, R_RISCV_SET6, 'S', false},
		{258, 105, 'A', false},
		{258, 106, 'B', false},
		{EM_RISCV, 60, 'S', true},
		{EM_RISCV, 61, 'B', true},
		{258, 107, 'A', true},
		{258, 108, 'B', true},
	};
	for (size_t t = 0; t < ARRAY_SIZE(table); t++)
		for (unsigned more = 0; more < 4; more++) {
			struct made_file *f = new_file(true, false, ET_REL, table[t].machine);
			struct made_relocation r = {20, 2, table[t].type, 0x1234567};
			uint64_t skipped, old = 0, v = 0x21 + 0x1234567;
			struct object_file *o;
			f->n_sections = 1;
			o = relocated(f, true, &r, 1, &skipped);
			/* Once more, with bytes that go on. */
			object_close(o);
			f->n = 0;
			f->n_sections--;
			for (unsigned i = 0; i < 4; i++)
				f->sections[3].data[20 + i] = (uint8_t)((i < more ? 0x80 : 0) | (0x52 + i));
			memset(f->bytes, 0, sizeof(f->bytes));
			o = opened(f);
			section_load(&o->sections.v[2]);
			section_relocate(o, &o->sections.v[2], &skipped);
			unsigned n = table[t].leb ? more + 1 : 1;
			for (unsigned i = 0; i < n; i++)
				old |= (uint64_t)((0x52 + i) & (table[t].leb ? 0x7f : 0x3f)) << 7 * i;
			v = table[t].action == 'A' ? old + v : table[t].action == 'B' ? old - v : v;
			for (unsigned i = 0; i < 4; i++) {
				unsigned was = (i < more ? 0x80 : 0) | (0x52 + i);
				unsigned want = i >= n         ? was
						: table[t].leb ? (was & 0x80) | (v >> 7 * i & 0x7f)
							       : (was & 0xc0) | (v & 0x3f);
				assert_int_equal(number_at(o, 20 + i, 1), want);
			}
			assert_int_equal(skipped, 0);
			object_close(o);
			free(f);
		}
}

TEST(skipped_relocations)
{
	static const struct {
		uint64_t symbol, type, skipped, want;
	} table[] = {
		{1, R_X86_64_64, 0, 0x63},
		{2, R_X86_64_64, 0, 0x24},
		{0, R_X86_64_64, 0, 3},
		{3, R_X86_64_64, 1, UINT64_MAX},
		{3, R_X86_64_PC64, 1, 0},
		{1, 0, 0, 0},
		{1, 200, 1, 0},
	};
	for (size_t t = 0; t < ARRAY_SIZE(table); t++) {
		struct made_file *f = new_file(true, false, ET_REL, EM_X86_64);
		struct made_relocation v[] = {{8, table[t].symbol, table[t].type, 3}, {0, 1, R_X86_64_8, 1}};
		uint64_t skipped;
		struct object_file *o = relocated(f, true, v, 2, &skipped);
		assert_int_equal(skipped, table[t].skipped);
		assert_int_equal(number_at(o, 0, 1), 0x61);
		assert_true(number_at(o, 8, 8) ==
			    (table[t].want ? table[t].want : number_before(8, 8, false)));
		/* The tables have fewer bytes than the file; once more they would have more. */
		uint64_t left = o->map_size - elf_of(o)->relocations;
		assert_int_equal(elf_of(o)->relocations, 48);
		elf_of(o)->relocations += left - 48;
		assert_int_equal(section_relocate(o, &o->sections.v[2], &skipped), 0);
		assert_int_equal(elf_of(o)->relocations, o->map_size);
		skipped = 0;
		assert_int_equal(section_relocate(o, &o->sections.v[2], &skipped), 0);
		assert_int_equal(skipped, 1);
		/* Those of other sections are not applied. */
		elf_of(o)->relocations = skipped = 0;
		o->sections.v[4].data = o->sections.v[4].raw;
		assert_int_equal(section_relocate(o, &o->sections.v[4], &skipped), 0);
		assert_int_equal(elf_of(o)->relocations, 0);
		assert_false(o->sections.v[4].owned);
		object_close(o);
		free(f);
	}
}

/* A relocation of 64-bit MIPS has three types, the first counts; little-endian it has another form. */
TEST(mips_relocations)
{
	EACH_KIND(wide, big)
	{
		struct made_file *f = new_file(wide, big, ET_REL, EM_MIPS);
		struct made_relocation r = {8, 1, wide ? 0x120000 | R_MIPS_64 : R_MIPS_32, 3};
		uint64_t skipped;
		if (wide && !big)
			r = (struct made_relocation){8, (uint64_t)R_MIPS_64 << 24 | 0x12, 1, 3};
		struct object_file *o = relocated(f, true, &r, 1, &skipped);
		assert_int_equal(skipped, 0);
		assert_int_equal(number_at(o, 8, wide ? 8 : 4), 0x63);
		object_close(o);
		free(f);
	}
}

/* Without memory for the copy nothing is changed, and the size of what failed is noted. */
TEST(no_memory)
{
	struct made_file *f = new_file(true, false, ET_REL, EM_X86_64);
	struct made_relocation r = {8, 1, R_X86_64_64, 3};
	uint64_t skipped;
	struct object_file *o = relocated(f, true, &r, 1, &skipped);
	assert_int_equal(noted, 0);
	section_unload(&o->sections.v[2]);
	elf_of(o)->relocations = 0;
	assert_int_equal(section_load(&o->sections.v[2]), 0);
	mmap_fails = true;
	assert_int_equal(section_relocate(o, &o->sections.v[2], &skipped), -ENOMEM);
	mmap_fails = false;
	assert_int_equal(noted, 24);
	assert_false(o->sections.v[2].owned);
	assert_int_equal(number_at(o, 8, 1), 0x18);
	object_close(o);
	free(f);
}
