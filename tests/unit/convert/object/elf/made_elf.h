/*
 * made_elf.h - ELF files made in memory, of both classes and byte orders.
 *
 * A test adds sections with their content, and segments; opened() writes the file and opens it. The caller
 * closes the object file before it frees the made file, which has its bytes.
 */
#ifndef TESTS_MADE_ELF_H
#define TESTS_MADE_ELF_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

#include "convert/object/object_open.h"
#include "convert/object/source_format.h"
#include "gsym/base/diag.h"

enum { SECTIONS_MOST = 16, FILE_MOST = 1 << 16, SECTION_DATA = 16 << 10 };

/* One section, as its header says; names are in the file as they are here. */
struct made_section {
	const char *name;
	uint32_t type, link, info;
	uint64_t flags, addr, align, entry_size;
	uint8_t data[SECTION_DATA];
	size_t n;
	uint64_t off, size; /* if not 0: what the header says instead */
};

struct made_segment {
	uint32_t type;
	uint64_t off, addr, size, align;
};

struct made_file {
	bool wide, big;
	uint16_t type, machine;
	uint32_t flags;
	struct made_section sections[SECTIONS_MOST]; /* 0: none */
	size_t n_sections;
	struct made_segment segments[4];
	size_t n_segments;
	uint64_t header_off; /* if not 0: where the section headers are said to be */
	uint8_t bytes[FILE_MOST];
	size_t n;
};

static inline void put(uint8_t *bytes, size_t *n, uint64_t v, size_t size, bool big)
{
	for (size_t i = 0; i < size; i++)
		bytes[(*n)++] = (uint8_t)(v >> 8 * (big ? size - 1 - i : i));
}

static inline void add(struct made_section *s, const struct made_file *f, uint64_t v, size_t size)
{
	assert_true(s->n + size <= SECTION_DATA);
	put(s->data, &s->n, v, size, f->big);
}

static inline void add_bytes(struct made_section *s, const void *bytes, size_t size)
{
	assert_true(s->n + size <= SECTION_DATA);
	memcpy(s->data + s->n, bytes, size);
	s->n += size;
}

static inline struct made_file *new_file(bool wide, bool big, uint16_t type, uint16_t machine)
{
	struct made_file *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	f->wide = wide;
	f->big = big;
	f->type = type;
	f->machine = machine;
	f->n_sections = 1;
	return f;
}

static inline struct made_section *new_section(struct made_file *f, const char *name, uint32_t type,
					       uint64_t flags, uint64_t addr)
{
	struct made_section *s = &f->sections[f->n_sections++];
	*s = (struct made_section){.name = name, .type = type, .flags = flags, .addr = addr, .align = 1};
	return s;
}

static inline void put_at(struct made_file *f, size_t *at, uint64_t v, size_t size)
{
	put(f->bytes, at, v, size, f->big);
}

/* Writes the file; the names of sections are in the last one. */
static inline void finish(struct made_file *f)
{
	size_t word = f->wide ? 8 : 4, header = f->wide ? 64 : 52, phdr = f->wide ? 56 : 32,
	       shdr = f->wide ? 64 : 40;
	struct made_section *names = new_section(f, ".shstrtab", SHT_STRTAB, 0, 0);
	uint32_t name_at[SECTIONS_MOST];
	uint64_t offs[SECTIONS_MOST];
	for (size_t i = 0; i < f->n_sections; i++) {
		name_at[i] = (uint32_t)names->n;
		add_bytes(names, i ? f->sections[i].name : "", i ? strlen(f->sections[i].name) + 1 : 1);
	}
	f->n = header + f->n_segments * phdr;
	for (size_t i = 1; i < f->n_sections; i++) {
		f->n = (f->n + 7) & ~(size_t)7;
		offs[i] = f->n;
		memcpy(f->bytes + f->n, f->sections[i].data, f->sections[i].n);
		f->n += f->sections[i].n;
	}
	f->n = (f->n + 7) & ~(size_t)7;
	size_t table = f->n, at = 0;
	for (size_t i = 0; i < f->n_sections; i++) {
		const struct made_section *s = &f->sections[i];
		put_at(f, &f->n, i ? name_at[i] : 0, 4);
		put_at(f, &f->n, s->type, 4);
		put_at(f, &f->n, s->flags, word);
		put_at(f, &f->n, s->addr, word);
		put_at(f, &f->n, s->off ? s->off : i ? offs[i] : 0, word);
		put_at(f, &f->n, s->size ? s->size : s->n, word);
		put_at(f, &f->n, s->link, 4);
		put_at(f, &f->n, s->info, 4);
		put_at(f, &f->n, s->align, word);
		put_at(f, &f->n, s->entry_size, word);
	}
	memcpy(f->bytes,
	       "\x7f"
	       "ELF",
	       4);
	at = 4;
	put_at(f, &at, f->wide ? 2 : 1, 1);
	put_at(f, &at, f->big ? 2 : 1, 1);
	put_at(f, &at, 1, 1);
	at = 16;
	put_at(f, &at, f->type, 2);
	put_at(f, &at, f->machine, 2);
	put_at(f, &at, 1, 4);
	put_at(f, &at, 0, word);
	put_at(f, &at, f->n_segments ? header : 0, word);
	put_at(f, &at, f->header_off ? f->header_off : table, word);
	put_at(f, &at, f->flags, 4);
	put_at(f, &at, header, 2);
	put_at(f, &at, phdr, 2);
	put_at(f, &at, f->n_segments, 2);
	put_at(f, &at, shdr, 2);
	put_at(f, &at, f->n_sections, 2);
	put_at(f, &at, f->n_sections - 1, 2);
	assert_int_equal(at, header);
	for (size_t i = 0; i < f->n_segments; i++) {
		const struct made_segment *s = &f->segments[i];
		put_at(f, &at, s->type, 4);
		if (f->wide)
			put_at(f, &at, 5, 4);
		put_at(f, &at, s->off, word);
		put_at(f, &at, s->addr, word);
		put_at(f, &at, s->addr, word);
		put_at(f, &at, s->size, word);
		put_at(f, &at, s->size, word);
		if (!f->wide)
			put_at(f, &at, 5, 4);
		put_at(f, &at, s->align, word);
	}
}

static inline struct object_file *opened(struct made_file *f)
{
	struct object_file *o = NULL;
	struct gsym_diag diag = {""};
	if (!f->n)
		finish(f);
	int err = object_open_memory(f->bytes, f->n, "made", &o, &diag);
	if (err)
		fail_msg("%d: %s", err, diag.text);
	assert_ptr_equal(o->format, &elf_format);
	return o;
}

#define EACH_KIND(wide, big)                 \
	for (int wide = 0; wide < 2; wide++) \
		for (int big = 0; big < 2; big++)

/* ---- Symbols ---- */

enum {
	LOCAL_FUNC = STT_FUNC,
	GLOBAL_FUNC = 1 << 4 | STT_FUNC,
	GLOBAL_LABEL = 1 << 4 | STT_NOTYPE,
	IFUNC = 1 << 4 | STT_GNU_IFUNC
};

static inline void add_symbol(struct made_section *s, const struct made_file *f, uint32_t name,
			      uint64_t value, uint64_t size, unsigned info, unsigned other, unsigned section)
{
	add(s, f, name, 4);
	if (!f->wide) {
		add(s, f, value, 4);
		add(s, f, size, 4);
	}
	add(s, f, info, 1);
	add(s, f, other, 1);
	add(s, f, section, 2);
	if (f->wide) {
		add(s, f, value, 8);
		add(s, f, size, 8);
	}
}

#endif
