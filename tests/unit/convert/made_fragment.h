/*
 * made_fragment.h - ELF files of x86_64 with units of DWARF, for tests of what is converted first.
 *
 * Function k, a hexadecimal digit, has FUNCTION_SIZE bytes at function_addr(k). A unit is a text: the digits
 * of its functions, '+' behind one that is twice as long; and what is odd about the unit, see enum below.
 */
#ifndef TESTS_MADE_FRAGMENT_H
#define TESTS_MADE_FRAGMENT_H

#include "tests/unit/convert/object/elf/made_elf.h"

#include <stdio.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum {
	TEXT = 0x1000,
	FUNCTION_SIZE = 0x20,
	FUNCTIONS = 16,
	UNITS_MOST = 16,
	LANGUAGE_C99 = 0x0c,
	LANGUAGE_ADA95 = 0x0d,
};

/* Numbers of sections. */
enum { CODE = 1, INFO, LINE, ARANGES, ABBREV };

enum unit_mark {
	NO_ROWS = '!',
	IN_ADA = 'A',
	SKELETON = '~', /* its entries are in another file */
	REFERS = '>',   /* the names of its functions are in the first unit */
};

struct made_image {
	const char *units[UNITS_MOST]; /* none: usual_units */
	const char *symbols;           /* of each function a symbol_mark; NULL: all SIZED */
	const char *order;             /* of units in .debug_aranges, by digits; NULL: as they are */
	uint64_t stray;                /* what is added to their offsets there */
	const char *str;               /* what is in .debug_str, or NULL */
	const char *comment;           /* or NULL */
	bool gold;                     /* its note */
	bool compressed;               /* .debug_info */
	uint64_t base;                 /* what is added to the address of the first segment */
};

enum symbol_mark {
	SIZED = 's',
	WIDE = 'w', /* twice as long as the function */
	UNSIZED = 'z',
	LABEL = 'l',
	ALIASES = '2',
	NO_SYMBOL = '-',
};

static const char *const usual_units[UNITS_MOST] = {"01", "23", "45", "67", "89", "ab", "cd", "ef"};

static inline uint64_t function_addr(char digit)
{
	const char text[] = {digit, 0};
	return TEXT + FUNCTION_SIZE * strtoul(text, NULL, 16);
}

static inline bool is_function(char c)
{
	return c && strchr("0123456789abcdef", c);
}

static inline uint64_t function_end(const char *at)
{
	return function_addr(*at) + FUNCTION_SIZE * (at[1] == '+' ? 2 : 1);
}

/* From the first to the end of the last. */
static inline void unit_range(const char *unit, uint64_t *lo, uint64_t *hi)
{
	*lo = UINT64_MAX;
	*hi = 0;
	for (; *unit; unit++) {
		if (!is_function(*unit))
			continue;
		*lo = function_addr(*unit) < *lo ? function_addr(*unit) : *lo;
		*hi = function_end(unit) > *hi ? function_end(unit) : *hi;
	}
}

/* ---- DWARF ---- */

/* Entry 1: a unit with code and a line table; 2: a function; 3: a skeleton; 4: a function named elsewhere. */
static inline void add_abbreviations(struct made_section *s, bool leads_out)
{
	static const char usual[] = "\1\x11\1\x13\x0b\x10\x17\x11\1\x12\6\3\x08\0\0"
				    "\2\x2e\0\3\x08\x11\1\x12\6\0";
	static const char others[] = "\3\x11\1\x13\x0b\x10\x17\x11\1\x12\6\3\x08\xb0\x42\x08\0\0"
				     "\4\x2e\0\x31\x10\x11\1\x12\6\0";
	add_bytes(s, usual, sizeof(usual));
	if (leads_out)
		add_bytes(s, others, sizeof(others));
	add_bytes(s, "", 1);
}

static inline void add_function(struct made_section *s, const struct made_file *f, const char *at,
				bool refers, uint64_t origin)
{
	const char name[] = {'f', *at, 0};
	add(s, f, refers ? 4 : 2, 1);
	if (refers)
		add(s, f, origin, 4);
	else
		add_bytes(s, name, sizeof(name));
	add(s, f, function_addr(*at), 8);
	add(s, f, function_end(at) - function_addr(*at), 4);
}

/* A unit of version 4, whose line table is at @line; *origin: its first function. */
static inline void add_unit(struct made_section *s, const struct made_file *f, const char *unit,
			    uint64_t line, uint64_t *origin)
{
	size_t begin = s->n;
	uint64_t lo, hi, first;
	unit_range(unit, &lo, &hi);
	add(s, f, 0, 4);
	add(s, f, 4, 2);
	add(s, f, 0, 4);
	add(s, f, 8, 1);
	add(s, f, strchr(unit, SKELETON) ? 3 : 1, 1);
	add(s, f, strchr(unit, IN_ADA) ? LANGUAGE_ADA95 : LANGUAGE_C99, 1);
	add(s, f, line, 4);
	add(s, f, lo, 8);
	add(s, f, hi - lo, 4);
	add_bytes(s, "u", 2);
	if (strchr(unit, SKELETON))
		add_bytes(s, "x.dwo", 6);
	first = s->n;
	for (const char *at = unit; *at; at++)
		if (is_function(*at))
			add_function(s, f, at, strchr(unit, REFERS), *origin);
	add(s, f, 0, 1);
	*origin = begin ? *origin : first;
	put(s->data, &begin, s->n - begin - 4, 4, f->big);
}

/* A line table of version 2, with one row for each function. */
static inline void add_lines(struct made_section *s, const struct made_file *f, const char *unit)
{
	static const char header[] = "\1\1\xfb\x0e\x0a\0\1\1\1\1\0\0\0\1\0u.c\0\0\0\0";
	size_t begin = s->n;
	add(s, f, 0, 4);
	add(s, f, 2, 2);
	add(s, f, sizeof(header), 4);
	add_bytes(s, header, sizeof(header));
	for (const char *at = unit; *at && !strchr(unit, NO_ROWS); at++) {
		if (!is_function(*at))
			continue;
		add_bytes(s, "\0\x09\2", 3);
		add(s, f, function_addr(*at), 8);
		add_bytes(s, "\1\2", 2);
		add(s, f, function_end(at) - function_addr(*at), 1);
		add_bytes(s, "\0\1\1", 3);
	}
	put(s->data, &begin, s->n - begin - 4, 4, f->big);
}

static inline void add_aranges(struct made_section *s, const struct made_file *f, const char *unit,
			       uint64_t off)
{
	uint64_t lo, hi;
	unit_range(unit, &lo, &hi);
	add(s, f, 44, 4);
	add(s, f, 2, 2);
	add(s, f, off, 4);
	add(s, f, 8, 2); /* bytes of an address, none of a segment */
	add(s, f, 0, 4);
	add(s, f, lo, 8);
	add(s, f, hi - lo, 8);
	add(s, f, 0, 8);
	add(s, f, 0, 8);
}

/* Makes @s the section compressed by Zstandard, in a block that is stored. */
static inline void compress(struct made_section *s, const struct made_file *f)
{
	static uint8_t content[SECTION_DATA];
	size_t n = s->n;
	memcpy(content, s->data, n);
	s->n = 0;
	s->flags |= SHF_COMPRESSED;
	add(s, f, ELFCOMPRESS_ZSTD, 8);
	add(s, f, n, 8);
	add(s, f, 1, 8);
	add_bytes(s, "\x28\xb5\x2f\xfd\xa0", 5);
	put(s->data, &s->n, n, 4, false);
	put(s->data, &s->n, n << 3 | 1, 3, false);
	add_bytes(s, content, n);
}

/* ---- The file ---- */

static inline void add_symbols(struct made_file *f, const char *marks)
{
	struct made_section *s = new_section(f, ".symtab", SHT_SYMTAB, 0, 0), *names;
	s->align = 8;
	s->entry_size = 24;
	s->link = (uint32_t)f->n_sections;
	names = new_section(f, ".strtab", SHT_STRTAB, 0, 0);
	add_bytes(names, "", 1);
	add_symbol(s, f, 0, 0, 0, 0, 0, 0);
	for (unsigned k = 0; k < FUNCTIONS; k++) {
		char name[] = "s0", mark = marks ? marks[k] : (char)SIZED;
		name[1] = "0123456789abcdef"[k];
		for (int n = mark == NO_SYMBOL ? 0 : mark == ALIASES ? 2 : 1; n; n--) {
			name[0] = n == 1 ? 's' : 't';
			add_symbol(s, f, (uint32_t)names->n, TEXT + FUNCTION_SIZE * k,
				   mark == UNSIZED ? 0 : FUNCTION_SIZE * (mark == WIDE ? 2 : 1),
				   mark == LABEL ? GLOBAL_LABEL : GLOBAL_FUNC, 0, CODE);
			add_bytes(names, name, sizeof(name));
		}
	}
}

/* The first half of the functions is in one segment, the other in a second one. */
static inline void add_segments(struct made_file *f, uint64_t base)
{
	enum { HALF = FUNCTIONS / 2 * FUNCTION_SIZE };
	f->segments[0] = (struct made_segment){PT_LOAD, 0x10, TEXT + base, HALF, 1};
	f->segments[1] = (struct made_segment){PT_LOAD, 0x800, TEXT + HALF, HALF, 1};
	f->n_segments = 2;
}

/* Whether an entry leads out of its unit. */
static inline bool add_units(struct made_file *f, const char *const *units, const struct made_image *image)
{
	struct made_section *info = &f->sections[INFO], *line = &f->sections[LINE],
			    *aranges = &f->sections[ARANGES];
	uint64_t offs[UNITS_MOST], origin = 0;
	const char *order = image->order;
	bool leads_out = false;
	size_t n = 0;
	for (; n < UNITS_MOST && units[n]; n++) {
		offs[n] = info->n;
		leads_out |= strchr(units[n], SKELETON) || strchr(units[n], REFERS);
		add_unit(info, f, units[n], line->n, &origin);
		add_lines(line, f, units[n]);
	}
	for (size_t i = 0; order ? order[i] : i < n; i++) {
		size_t k = order ? (function_addr(order[i]) - TEXT) / FUNCTION_SIZE : i;
		add_aranges(aranges, f, units[k], offs[k] + image->stray);
	}
	return leads_out;
}

static inline void add_text(struct made_file *f, const char *section, const char *text)
{
	if (text)
		add_bytes(new_section(f, section, SHT_PROGBITS, 0, 0), text, strlen(text) + 1);
}

static inline struct made_file *made_image_file(const struct made_image *image)
{
	static const char *const names[] = {".debug_info", ".debug_line", ".debug_aranges", ".debug_abbrev"};
	struct made_file *f = new_file(true, false, ET_DYN, EM_X86_64);
	struct made_section *s = new_section(f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT);
	s->n = (FUNCTIONS + 2) * FUNCTION_SIZE;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		new_section(f, names[i], SHT_PROGBITS, 0, 0);
	bool leads_out = add_units(f, image->units[0] ? image->units : usual_units, image);
	add_abbreviations(&f->sections[ABBREV], leads_out);
	add_symbols(f, image->symbols);
	add_text(f, ".debug_str", image->str ? image->str : "GNU C17");
	add_text(f, ".comment", image->comment);
	add_text(f, ".note.gnu.gold-version", image->gold ? "gold" : NULL);
	if (image->compressed)
		compress(&f->sections[INFO], f);
	add_segments(f, image->base);
	finish(f);
	return f;
}

#endif
