/*
 * pe.c - PE files, PE32 and PE32+: headers, data directories, sections.
 */
#include "convert/object/pe/pe.h"

#include "gsym/base/diag.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	MZ_MAGIC = 0x5a4d,
	PE_MAGIC = 0x4550,
	MZ_HEADER_SIZE = 0x40, /* its last word is the offset of the PE header */
	PE32_MAGIC = 0x10b,
	PE32_PLUS_MAGIC = 0x20b,
	SECTION_SIZE = 40,
	SECTION_NAME_SIZE = 8,
};

static int compare_piece(const void *a, const void *b)
{
	const struct pe_piece *x = a, *y = b;
	return COMPARE(x->rva, y->rva) ?: COMPARE(x->bytes.data, y->bytes.data);
}

/* ---- Headers ---- */

/* Moves past the PE header's magic number; false when there is none. */
static bool find_header(struct span file, struct cursor *ret)
{
	*ret = cursor_new(file.data, file.size, false);
	if (cursor_u16(ret) != MZ_MAGIC)
		return false;
	cursor_seek(ret, MZ_HEADER_SIZE - 4);
	cursor_seek(ret, cursor_u32(ret));
	return cursor_u32(ret) == PE_MAGIC && cursor_ok(ret);
}

static bool pe_probe(struct span file)
{
	struct cursor c;
	return find_header(file, &c);
}

/* What follows the symbols: its size with these four bytes, and texts. Section names are there, too. */
static void find_strings(struct object_file *object, uint64_t off)
{
	struct pe *pe = pe_of(object);
	struct span rest = object_span(object, off, object->map_size - off);
	object_expect(object, "names of symbols", 0, off, rest.size < 4 ? 4 : load32(rest.data, false));
	if (rest.size < 4)
		return;
	uint64_t size = load32(rest.data, false);
	size = size < rest.size ? size : rest.size;
	const uint8_t *last = size > 4 ? memrchr(rest.data + 4, 0, size - 4) : NULL;
	if (last)
		pe->strings = (struct span){rest.data, (size_t)(last - rest.data) + 1};
}

static void find_symbols(struct object_file *object, uint64_t off, uint32_t n)
{
	struct pe *pe = pe_of(object);
	uint64_t size = (uint64_t)n * COFF_SYMBOL_SIZE;
	if (!off)
		return;
	pe->n_symbols = n;
	pe->symbols = object_span(object, off, size);
	object_expect(object, "symbol table", 0, off, size);
	if (pe->symbols.data)
		find_strings(object, off + size);
}

/* The optional header, of which the part read here is there in all PE files. */
static bool read_optional(struct object_file *object, struct cursor c, uint32_t *ret_headers)
{
	struct pe *pe = pe_of(object);
	uint64_t start = cursor_off(&c);
	uint16_t magic = cursor_u16(&c);
	bool wide = magic == PE32_PLUS_MAGIC;
	if (!wide && magic != PE32_MAGIC)
		return false;
	object->addr_size = wide ? 8 : 4;
	cursor_seek(&c, start + (wide ? 24 : 28));
	object->base_address = wide ? cursor_u64(&c) : cursor_u32(&c);
	object->has_base = true;
	cursor_seek(&c, start + 60);
	*ret_headers = cursor_u32(&c);
	cursor_seek(&c, start + (wide ? 108 : 92));
	uint32_t n = cursor_u32(&c);
	if (!cursor_ok(&c))
		return false;
	for (uint32_t i = 0; i < n && i < DIRECTORIES && cursor_can_hold(&c, 1, 8); i++) {
		pe->directories[i].rva = cursor_u32(&c);
		pe->directories[i].size = cursor_u32(&c);
	}
	return true;
}

/* ---- Sections ---- */

/* Digits of an offset: decimal after "/", base 64 after "//". */
static bool take_offset(const char *name, uint64_t *ret)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	bool decimal = name[1] != '/';
	const char *at = name + (decimal ? 1 : 2);
	*ret = 0;
	if (name[0] != '/' || !*at)
		return false;
	for (; *at; at++) {
		const char *digit = strchr(decimal ? "0123456789" : digits, *at);
		if (!digit)
			return false;
		*ret = *ret * (decimal ? 10 : 64) +
		       (uint64_t)(decimal ? *at - '0' : digit - digits); /* at most 7 digits */
	}
	return true;
}

/* Names of more than 8 bytes are "/123", an offset in the string table. NULL without memory. */
static const char *section_name(struct object_file *object, const uint8_t *field, struct name_budget *budget)
{
	char name[SECTION_NAME_SIZE + 1];
	uint64_t off;
	const struct span strings = pe_of(object)->strings;
	snprintf(name, sizeof(name), "%.*s", SECTION_NAME_SIZE, (const char *)field);
	if (take_offset(name, &off) && off >= 4 && off < strings.size &&
	    name_budget_take(budget, strings.data + off, strings.size - off) >= 0)
		return (const char *)strings.data + off;
	return arena_strdup(&object->names, name, strlen(name));
}

static int add_piece(struct object_file *object, uint32_t rva, struct span bytes)
{
	uint64_t addr;
	if (!bytes.size || __builtin_add_overflow(object->base_address, (uint64_t)rva, &addr))
		return 0;
	/* File offsets as the kernel maps them, also of an image within a file. */
	uint64_t off = (uint64_t)(bytes.data - object->file.data);
	if (vec_push(&object->segments, (struct object_segment){off, addr, bytes.size}))
		return -ENOMEM;
	return vec_push(&pe_of(object)->pieces, (struct pe_piece){rva, bytes});
}

/* The raw data is padded to the alignment of the file, and the virtual size is 0 in a few linkers' files. */
static int add_section(struct object_file *object, struct cursor *c, struct name_budget *budget)
{
	const uint8_t *name = cursor_take(c, SECTION_NAME_SIZE);
	uint32_t size = cursor_u32(c), rva = cursor_u32(c), raw_size = cursor_u32(c), off = cursor_u32(c);
	cursor_skip(c, 12); /* relocations and line numbers */
	uint32_t flags = cursor_u32(c);
	if (!name || !cursor_ok(c))
		return -EBADMSG;
	struct object_section s = {.name = section_name(object, name, budget)};
	if (!s.name)
		return -ENOMEM;
	s.addr = object->base_address + rva;
	s.size = size ? size : raw_size;
	coff_set_use(&s, flags);
	uint64_t kept = s.size < raw_size ? s.size : raw_size;
	if (off)
		s.raw = object_span(object, off, kept);
	s.outside = off && kept && !s.raw.data;
	/* Padding may be left out. */
	object_expect(object, "section", (unsigned)object->sections.n + 1, off, off ? kept : 0);
	int err =
		add_piece(object, rva, s.allocated || !strcmp(s.name, ".buildid") ? s.raw : (struct span){0});
	return err ? err : object_add_section(object, &s);
}

static int read_sections(struct object_file *object, struct cursor *c, uint32_t n, struct gsym_diag *diag)
{
	struct name_budget budget = name_budget_of((uint64_t)n * SECTION_SIZE + pe_of(object)->strings.size);
	if (!cursor_can_hold(c, n, SECTION_SIZE))
		return diag_set(diag, -EBADMSG,
				"%s: %u section headers at offset 0x%llx extend past the end of the file",
				object->path, n, (unsigned long long)cursor_off(c));
	for (uint32_t i = 0; i < n; i++)
		if (add_section(object, c, &budget))
			return diag_set(diag, -ENOMEM, "%s: out of memory", object->path);
	return 0;
}

/* ---- The format ---- */

static int pe_read(struct object_file *object, struct gsym_diag *diag)
{
	struct cursor c;
	struct pe *pe;
	if (object_new_own(object, sizeof(*pe), diag))
		return -ENOMEM;
	pe = pe_of(object);
	if (!find_header((struct span){object->map, object->map_size}, &c))
		return diag_set(diag, -ENOEXEC, "%s: not a PE file", object->path);
	uint64_t at = cursor_off(&c);
	pe->machine = cursor_u16(&c);
	uint32_t n_sections = cursor_u16(&c), headers = 0;
	cursor_skip(&c, 4); /* time */
	uint32_t symbols = cursor_u32(&c), n_symbols = cursor_u32(&c);
	uint16_t optional_size = cursor_u16(&c);
	cursor_skip(&c, 2); /* characteristics */
	struct cursor optional = cursor_window(&c, optional_size);
	if (!cursor_ok(&c) || !read_optional(object, optional, &headers))
		return diag_set(diag, -EBADMSG, "%s: damaged PE header at offset 0x%llx", object->path,
				(unsigned long long)at);
	coff_set_machine(object, pe->machine);
	object->mode_bits = pe_is_thumb(object);
	find_symbols(object, symbols, n_symbols);
	int err = read_sections(object, &c, n_sections, diag);
	if (err)
		return err;
	if (add_piece(object, 0, object_span(object, 0, headers)))
		return diag_set(diag, -ENOMEM, "%s: out of memory", object->path);
	if (pe->pieces.n)
		qsort(pe->pieces.v, pe->pieces.n, sizeof(*pe->pieces.v), compare_piece);
	ranges_normalize(&object->text);
	pe_read_id(object);
	return 0;
}

static void pe_close(struct object_file *object)
{
	vec_free(&pe_of(object)->pieces);
}

static bool pe_has_symbols(struct object_file *object)
{
	return pe_of(object)->n_symbols != 0;
}

const struct source_format pe_format = {
	.kind = IMAGE_PE,
	.companion = COMPANION_PDB,
	.go_id_in_code = true,
	.go_table_is_searched = true,
	.probe = pe_probe,
	.read = pe_read,
	.close = pe_close,
	.has_symbols = pe_has_symbols,
	.load_symbols = pe_load_symbols,
	.load_plt = pe_load_thunks,
	.check_debug = pe_check_age,
};
