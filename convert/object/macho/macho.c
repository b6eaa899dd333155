/*
 * macho.c - Mach-O files: header, load commands, segments and sections.
 *
 * Sections get ELF names, so that the DWARF reader is independent of the file format:
 * "__DWARF,__debug_str_offs" (names have at most 16 bytes) becomes ".debug_str_offsets".
 */
#include "convert/object/macho/macho.h"

#include "gsym/base/diag.h"

#include <stdio.h>
#include <string.h>

enum {
	MH_MAGIC = 0xfeedface,
	MH_MAGIC_64 = 0xfeedfacf,
	HEADER_32_SIZE = 28,
	HEADER_64_SIZE = 32,
	MH_OBJECT = 1,
	MH_DYLIB_STUB = 9, /* has no content */
	MH_DSYM = 10,
	SECTION_32_SIZE = 68,
	SECTION_64_SIZE = 80,
	UUID_SIZE = 16,
};

enum {
	LC_SEGMENT = 0x1,
	LC_SYMTAB = 0x2,
	LC_DYSYMTAB = 0xb,
	LC_ID_DYLIB = 0xd,
	LC_SEGMENT_64 = 0x19,
	LC_UUID = 0x1b,
	LC_DYLD_INFO = 0x22,
	LC_FUNCTION_STARTS = 0x26,
	LC_DYLD_EXPORTS_TRIE = 0x33,
	LC_REQUIRED_BY_DYLD = (int)0x80000000, /* a flag beside some of them */
};

enum {
	SECTION_TYPE = 0xff,
	S_ZEROFILL = 0x1,
	S_SYMBOL_STUBS = 0x8,
	S_GB_ZEROFILL = 0xc,
	S_THREAD_LOCAL_ZEROFILL = 0x12,
	S_ATTR_SOME_INSTRUCTIONS = 0x400,
};
#define S_ATTR_PURE_INSTRUCTIONS 0x80000000U

/* ---- Header ---- */

static bool thin_order(struct span data, bool *ret_big, bool *ret_wide)
{
	for (int big = 0; big < 2 && data.size >= 4; big++) {
		uint32_t magic = load32(data.data, big);
		if (magic != (uint32_t)MH_MAGIC && magic != (uint32_t)MH_MAGIC_64)
			continue;
		*ret_big = big;
		*ret_wide = magic == (uint32_t)MH_MAGIC_64;
		return true;
	}
	return false;
}

bool macho_is_thin(struct span data)
{
	bool big, wide;
	return thin_order(data, &big, &wide) && data.size >= (wide ? HEADER_64_SIZE : HEADER_32_SIZE);
}

static const struct {
	uint32_t type, subtype; /* subtype 0: any other */
	const char *arch;
} machines[] = {
	{0x7, 0, "i386"},          {0x01000007, 8, "x86_64h"},
	{0x01000007, 0, "x86_64"}, {0xc, 6, "armv6"},
	{0xc, 5, "armv5"},         {0xc, 9, "armv7"},
	{0xc, 10, "armv7f"},       {0xc, 11, "armv7s"},
	{0xc, 12, "armv7k"},       {0xc, 14, "armv6m"},
	{0xc, 15, "armv7m"},       {0xc, 16, "armv7em"},
	{0xc, 0, "arm"},           {0x0100000c, 2, "arm64e"},
	{0x0100000c, 0, "arm64"},  {0x0200000c, 0, "arm64_32"},
	{0x12, 0, "ppc"},          {0x01000012, 0, "ppc64"},
};

void macho_machine_name(uint32_t type, uint32_t subtype, char ret[static 16])
{
	subtype &= 0xffffff; /* the upper byte has capability bits */
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		if (machines[i].type != type || (machines[i].subtype && machines[i].subtype != subtype))
			continue;
		snprintf(ret, 16, "%s", machines[i].arch);
		return;
	}
	snprintf(ret, 16, "cpu-%x", type);
}

void macho_arch_name(struct span data, char ret[static 16])
{
	bool big = false, wide = false;
	thin_order(data, &big, &wide);
	macho_machine_name(load32(data.data + 4, big), load32(data.data + 8, big), ret);
}

/* ---- Sections ---- */

/* Names truncated to 16 bytes and in full; and those accepted in any segment. */
static const struct {
	const char *cut, *whole;
} cut_names[] = {
	{"gsym", ".gsym"},
	{"debug_str_offs", ".debug_str_offsets"},
	{"zdebug_line_st", ".zdebug_line_str"},
	{"zdebug_loclist", ".zdebug_loclists"},
	{"zdebug_rnglist", ".zdebug_rnglists"},
	{"zdebug_str_off", ".zdebug_str_offsets"},
};

/* "__DWARF,__debug_info" is ".debug_info", others are "__SEGMENT,__section". NULL without memory. */
static const char *section_name(struct object_file *object, const char *segment, const char *name)
{
	char text[2 * MACHO_NAME_SIZE + 4];
	int n;
	for (size_t i = 0; i < ARRAY_SIZE(cut_names); i++)
		if (strncmp(name, "__", 2) == 0 && strcmp(name + 2, cut_names[i].cut) == 0)
			return cut_names[i].whole;
	if (strncmp(name, "__debug_", 8) == 0 || strncmp(name, "__zdebug_", 9) == 0)
		n = snprintf(text, sizeof(text), ".%s", name + 2);
	else
		n = snprintf(text, sizeof(text), "%s,%s", segment, name);
	return arena_strdup(&object->names, text, (size_t)n);
}

static void take_name(struct cursor *c, char ret[static MACHO_NAME_SIZE + 1])
{
	const uint8_t *name = cursor_take(c, MACHO_NAME_SIZE);
	snprintf(ret, MACHO_NAME_SIZE + 1, "%.*s", MACHO_NAME_SIZE, name ? (const char *)name : "");
}

static bool has_bytes(uint32_t flags)
{
	uint32_t type = flags & SECTION_TYPE;
	return type != S_ZEROFILL && type != S_GB_ZEROFILL && type != S_THREAD_LOCAL_ZEROFILL;
}

/*
 * Offsets of sections have 32 bits. Of a segment that ends beyond 4 GiB, as dsymutil writes it for a large
 * program, they are the lower ones, and rise in the order of the sections.
 */
struct section_place {
	bool rises;
	uint64_t end; /* of what is before: no section begins below */
};

static uint64_t section_offset(struct section_place *place, uint32_t off, uint64_t size)
{
	if (!place->rises)
		return off;
	uint64_t whole = place->end + (uint32_t)(off - (uint32_t)place->end), end;
	place->end = __builtin_add_overflow(whole, size, &end) ? UINT64_MAX : end;
	return whole;
}

/* Adds a section, unless its header is cut, which @c tells. */
static int add_section(struct object_file *object, struct cursor *c, bool wide, struct section_place *place)
{
	char name[MACHO_NAME_SIZE + 1], segment[MACHO_NAME_SIZE + 1];
	struct object_section s = {0};
	take_name(c, name);
	take_name(c, segment);
	s.addr = wide ? cursor_u64(c) : cursor_u32(c);
	s.size = wide ? cursor_u64(c) : cursor_u32(c);
	uint32_t off = cursor_u32(c);
	cursor_skip(c, 12); /* align, reloff, nreloc */
	uint32_t flags = cursor_u32(c), reserved1 = cursor_u32(c), reserved2 = cursor_u32(c);
	cursor_skip(c, wide ? 4 : 0);
	if (!cursor_ok(c))
		return 0;
	s.name = section_name(object, segment, name);
	s.code = flags & (S_ATTR_PURE_INSTRUCTIONS | S_ATTR_SOME_INSTRUCTIONS);
	s.allocated = strcmp(segment, "__DWARF") != 0;
	/* A dSYM has headers for all sections but the content of debug sections only. */
	if (has_bytes(flags) && off)
		s.raw = object_span(object, section_offset(place, off, s.size), s.size);
	s.outside = has_bytes(flags) && off && !s.raw.data;
	if (!s.name)
		return -ENOMEM;
	if ((flags & SECTION_TYPE) == S_SYMBOL_STUBS &&
	    vec_push(&macho_of(object)->stubs, (struct macho_stubs){s.addr, s.size, reserved2, reserved1}))
		return -ENOMEM;
	return object_add_section(object, &s);
}

static int read_segment(struct object_file *object, struct cursor *c, bool wide)
{
	char name[MACHO_NAME_SIZE + 1];
	take_name(c, name);
	uint64_t addr = wide ? cursor_u64(c) : cursor_u32(c);
	cursor_skip(c, wide ? 8 : 4); /* vmsize */
	uint64_t off = wide ? cursor_u64(c) : cursor_u32(c);
	uint64_t size = wide ? cursor_u64(c) : cursor_u32(c);
	cursor_skip(c, 8); /* maxprot, initprot */
	uint32_t n = cursor_u32(c);
	cursor_skip(c, 4);
	if (!cursor_ok(c))
		return 0;
	if (strcmp(name, "__TEXT") == 0 && !macho_of(object)->has_text_addr) {
		macho_of(object)->has_text_addr = object->has_base = true;
		macho_of(object)->text_addr = object->base_address = addr;
	}
	if (macho_of(object)->file_type != MH_DYLIB_STUB &&
	    (macho_of(object)->file_type != MH_DSYM || strcmp(name, "__DWARF") == 0))
		object_expect(object, "segment", 0, off, size);
	struct section_place place = {.rises = size > UINT32_MAX || off > UINT32_MAX - size, .end = off};
	/* File offsets as the kernel maps them: of the fat file, not of its slice. */
	bool mapped = size && !__builtin_add_overflow(off, (uint64_t)(object->map - object->file.data), &off);
	int err =
		mapped && vec_push(&object->segments, (struct object_segment){off, addr, size}) ? -ENOMEM : 0;
	for (uint32_t i = 0; i < n && !err && cursor_ok(c); i++)
		err = add_section(object, c, wide, &place);
	return err;
}

/* ---- Load commands ---- */

static struct macho_part take_part(struct cursor *c)
{
	uint32_t off = cursor_u32(c), size = cursor_u32(c);
	return (struct macho_part){off, size};
}

static void read_uuid(struct object_file *object, struct cursor *c)
{
	const uint8_t *uuid = cursor_take(c, UUID_SIZE);
	if (uuid && !object->id_size)
		object_set_id(object, uuid, UUID_SIZE);
}

/* The name's offset counts from the command number. One that lies outside is none. */
static void read_install_name(struct object_file *object, struct cursor *c)
{
	struct cursor name = *c;
	uint32_t at = cursor_u32(&name);
	if (!cursor_ok(&name) || at < 12)
		return;
	cursor_skip(&name, at - 12);
	const char *text = cursor_str(&name);
	if (cursor_ok(&name))
		macho_of(object)->install_name = text;
}

/*
 * Reads one command; @c is its content after the command number and size. If it is cut short, fields that are
 * not there are 0, and so are sections of a segment not there. 0 or -ENOMEM.
 */
static int read_command(struct object_file *object, uint32_t command, struct cursor *c)
{
	struct macho *m = macho_of(object);
	uint64_t size;
	switch (command & ~(uint32_t)LC_REQUIRED_BY_DYLD) {
	case LC_SEGMENT: return read_segment(object, c, false);
	case LC_SEGMENT_64: return read_segment(object, c, true);
	case LC_UUID: read_uuid(object, c); break;
	case LC_ID_DYLIB: read_install_name(object, c); break;
	case LC_SYMTAB:
		m->symbols = take_part(c);
		m->strings = take_part(c);
		size = m->symbols.size * (object->addr_size == 8 ? NLIST_64_SIZE : NLIST_32_SIZE);
		m->names = name_budget_of(m->strings.size + size);
		object_expect(object, "symbol table", 0, m->symbols.off, size);
		object_expect(object, "names of symbols", 0, m->strings.off, m->strings.size);
		break;
	case LC_DYSYMTAB:
		cursor_skip(c, 48);
		m->indirect = take_part(c);
		break;
	case LC_DYLD_INFO:
		cursor_skip(c, 32);
		m->exports = take_part(c);
		break;
	case LC_DYLD_EXPORTS_TRIE: m->exports = take_part(c); break;
	case LC_FUNCTION_STARTS: m->starts = take_part(c); break;
	}
	return 0;
}

/* A command that does not end within the bytes of all is the last: it does not say where the next begins. */
static int read_commands(struct object_file *object, struct cursor *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = cursor_off(c);
		uint32_t command = cursor_u32(c), size = cursor_u32(c);
		bool ends = cursor_ok(c) && size >= 8 && size - 8 <= cursor_left(c);
		struct cursor content = cursor_window(c, ends ? size - 8 : cursor_left(c));
		int err = ends || size > 8 ? read_command(object, command, &content) : 0;
		if (err)
			return err;
		if ((!ends || !cursor_ok(&content)) && !object->cut_command)
			object->cut_command = at;
		if (!ends)
			break;
	}
	return 0;
}

static int macho_read(struct object_file *object, struct gsym_diag *diag)
{
	struct span bytes = {object->map, object->map_size};
	bool big = false, wide = false;
	if (object_new_own(object, sizeof(struct macho), diag))
		return -ENOMEM;
	if (!thin_order(bytes, &big, &wide) || bytes.size < (wide ? HEADER_64_SIZE : HEADER_32_SIZE))
		return diag_set(diag, -ENOEXEC, "%s: not a Mach-O file", object->path);
	object->big_endian = big;
	object->addr_size = wide ? 8 : 4;
	macho_arch_name(bytes, object->arch);
	struct cursor c = cursor_new(bytes.data, bytes.size, big);
	cursor_skip(&c, 12);
	macho_of(object)->file_type = cursor_u32(&c);
	uint32_t n = cursor_u32(&c), size = cursor_u32(&c);
	cursor_skip(&c, wide ? 8 : 4);
	if (size > cursor_left(&c))
		return diag_set(diag, -EBADMSG,
				"%s: load commands of %u bytes extend past the end of the file", object->path,
				size);
	struct cursor commands = cursor_window(&c, size);
	int err = read_commands(object, &commands, n);
	ranges_normalize(&object->text);
	return err ? diag_set(diag, err, "%s: out of memory", object->path) : 0;
}

static void macho_close(struct object_file *object)
{
	vec_free(&macho_of(object)->stubs);
}

static bool macho_has_symbols(struct object_file *object)
{
	return macho_of(object)->symbols.size != 0;
}

static bool macho_own_name(struct object_file *object, char ret[static IMAGE_NAME_SIZE])
{
	const char *name = macho_of(object)->install_name, *slash = name ? strrchr(name, '/') : NULL;
	return object_take_name(slash ? slash + 1 : name, ret);
}

const struct source_format macho_format = {
	.kind = IMAGE_MACHO,
	.companion = COMPANION_DSYM,
	.keeps_rows = true,
	.keeps_code_at_0 = true,
	.chains_pointers = true,
	.go_id_in_code = true,
	.probe = macho_is_thin,
	.read = macho_read,
	.close = macho_close,
	.has_symbols = macho_has_symbols,
	.load_symbols = macho_load_symbols,
	.load_plt = macho_load_plt,
	.own_name = macho_own_name,
};
