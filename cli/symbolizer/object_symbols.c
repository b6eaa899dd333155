/* The symbol table of ELF, in either class and byte order; other formats have none here. */
#include "cli/symbolizer/object_symbols.h"

#include <elf.h>
#include <string.h>

#include "convert/object/source_format.h"
#include "gsym/base/cursor.h"

/* Entries of a symbol table, one after the other. */
struct symbol_walk {
	struct cursor entries;
	struct span names;
	bool is_64;
	/* The entry */
	struct object_symbol symbol;
	uint32_t name_off;
	uint8_t type;
	uint16_t section;
};

/* Begins with .symtab, or with .dynsym if there is no other. */
static bool walk_begin(struct symbol_walk *walk, struct object_file *object)
{
	bool is_elf = object->format == &elf_format;
	const struct object_section *table = is_elf ? object_section(object, ".symtab") : NULL;
	const struct object_section *names = table ? object_section(object, ".strtab") : NULL;
	if (!names) {
		table = is_elf ? object_section(object, ".dynsym") : NULL;
		names = table ? object_section(object, ".dynstr") : NULL;
	}
	if (!names)
		return false;
	*walk = (struct symbol_walk){
		.entries = cursor_new(table->raw.data, table->raw.size, object->big_endian),
		.names = names->raw,
		.is_64 = object->addr_size == 8,
	};
	return true;
}

static void read_entry(struct symbol_walk *walk)
{
	struct cursor *c = &walk->entries;
	uint8_t info;
	walk->name_off = cursor_u32(c);
	if (!walk->is_64) {
		walk->symbol.addr = cursor_u32(c);
		walk->symbol.size = cursor_u32(c);
	}
	info = cursor_u8(c);
	cursor_skip(c, 1);
	walk->section = cursor_u16(c);
	if (walk->is_64) {
		walk->symbol.addr = cursor_u64(c);
		walk->symbol.size = cursor_u64(c);
	}
	walk->type = info & 0xf;
}

/* Whether it is a variable or function that is defined here, with a name. */
static bool has_place(struct symbol_walk *walk)
{
	struct cursor names = cursor_new(walk->names.data, walk->names.size, false);
	if (walk->section == SHN_UNDEF || walk->section == SHN_ABS || walk->section == SHN_COMMON)
		return false;
	if (walk->type != STT_OBJECT && walk->type != STT_FUNC && walk->type != STT_NOTYPE &&
	    walk->type != STT_GNU_IFUNC)
		return false;
	cursor_seek(&names, walk->name_off);
	walk->symbol.name = cursor_str(&names);
	return walk->symbol.name && walk->symbol.name[0];
}

static bool walk_next(struct symbol_walk *walk)
{
	while (cursor_left(&walk->entries)) {
		read_entry(walk);
		if (cursor_ok(&walk->entries) && has_place(walk))
			return true;
	}
	return false;
}

bool object_symbol_at(struct object_file *object, uint64_t addr, struct object_symbol *ret)
{
	struct symbol_walk walk;
	struct object_symbol best = {.name = NULL};
	if (!walk_begin(&walk, object))
		return false;
	while (walk_next(&walk)) {
		const struct object_symbol *symbol = &walk.symbol;
		if (symbol->addr > addr || (best.name && symbol->addr < best.addr))
			continue;
		if (!best.name || symbol->addr > best.addr || symbol->size > best.size)
			best = *symbol;
	}
	if (!best.name || (best.size && addr - best.addr >= best.size))
		return false;
	*ret = best;
	return true;
}

bool object_symbol_called(struct object_file *object, const char *name, size_t size,
			  struct object_symbol *ret)
{
	struct symbol_walk walk;
	if (!walk_begin(&walk, object))
		return false;
	while (walk_next(&walk)) {
		if (walk.type != STT_OBJECT && strncmp(walk.symbol.name, name, size) == 0 &&
		    !walk.symbol.name[size]) {
			*ret = walk.symbol;
			return true;
		}
	}
	return false;
}
