#include "cli/symbolizer/symbol_table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "convert/object/source_format.h"
#include "gsym/base/cursor.h"
#include "gsym/base/search.h"

/* Entries of a symbol table, one after the other. */
struct symbol_walk {
	struct cursor entries;
	struct span names;
	const struct object_file *object;
	bool has_symbol, has_later_file;
	/* The entry */
	struct object_symbol symbol;
	uint32_t name_off;
	uint8_t type;
	uint16_t section;
};

static bool begin_walk(struct symbol_walk *walk, struct object_file *object)
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
		.object = object,
	};
	return true;
}

static void read_symbol(struct symbol_walk *walk)
{
	struct cursor *c = &walk->entries;
	bool is_64 = walk->object->addr_size == 8;
	uint8_t info;
	walk->name_off = cursor_u32(c);
	if (!is_64) {
		walk->symbol.addr = cursor_u32(c);
		walk->symbol.size = cursor_u32(c);
	}
	info = cursor_u8(c);
	cursor_skip(c, 1);
	walk->section = cursor_u16(c);
	if (is_64) {
		walk->symbol.addr = cursor_u64(c);
		walk->symbol.size = cursor_u64(c);
	}
	walk->type = ELF64_ST_TYPE(info);
	walk->symbol.is_local = ELF64_ST_BIND(info) == STB_LOCAL;
}

static bool read_name(struct symbol_walk *walk)
{
	struct cursor names = cursor_new(walk->names.data, walk->names.size, false);
	cursor_seek(&names, walk->name_off);
	walk->symbol.name = cursor_str(&names);
	return walk->symbol.name && walk->symbol.name[0];
}

/* "$x", "$d.1": where the kind of code changes; on other machines these are names as any. */
static bool is_mapping_symbol(const struct symbol_walk *walk)
{
	uint16_t machine = walk->object->machine;
	const char *name = walk->symbol.name;
	return (machine == EM_ARM || machine == EM_AARCH64 || machine == EM_RISCV || machine == EM_CSKY) &&
	       walk->type == STT_NOTYPE && name[0] == '$' && name[1] && strchr("adtx", name[1]);
}

/* Places the entry: false unless this file defines and names it, in memory. */
static bool has_place(struct symbol_walk *walk)
{
	const struct object_file *object = walk->object;
	bool is_sectioned = walk->section != SHN_UNDEF && walk->section <= object->sections.n;
	if (walk->type != STT_OBJECT && walk->type != STT_FUNC && walk->type != STT_NOTYPE &&
	    walk->type != STT_GNU_IFUNC)
		return false;
	if (walk->section == SHN_UNDEF || walk->section == SHN_ABS || walk->section == SHN_COMMON ||
	    (is_sectioned && !object->sections.v[walk->section - 1].allocated))
		return false;
	if (is_sectioned && object->relocatable)
		walk->symbol.addr += object->sections.v[walk->section - 1].addr;
	return true;
}

static bool next_symbol(struct symbol_walk *walk)
{
	while (cursor_left(&walk->entries)) {
		read_symbol(walk);
		if (!cursor_ok(&walk->entries))
			return false;
		if (walk->type == STT_FILE) { /* without a name: of what follows none is known */
			walk->symbol.file = read_name(walk) ? walk->symbol.name : NULL;
			walk->has_later_file |= walk->has_symbol;
			continue;
		}
		walk->has_symbol |= walk->section != SHN_UNDEF;
		if (has_place(walk) && read_name(walk) && !is_mapping_symbol(walk))
			return true;
	}
	return false;
}

/* By address, size and place in the table. */
static int compare(const void *a, const void *b)
{
	const struct object_symbol *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

uint64_t symbol_address_untagged(uint64_t addr)
{
	return (uint64_t)((int64_t)(addr << 8) >> 8);
}

int symbol_table_read(struct object_file *object, bool tagged, struct symbol_table *ret)
{
	struct symbol_walk walk;
	if (!begin_walk(&walk, object))
		return 0;
	while (next_symbol(&walk)) {
		if (!tagged)
			walk.symbol.addr = symbol_address_untagged(walk.symbol.addr);
		walk.symbol.is_alone = !walk.has_later_file;
		walk.symbol.is_data = walk.type == STT_OBJECT;
		walk.symbol.index = ret->list.n;
		if (vec_push(&ret->list, walk.symbol))
			return -ENOMEM;
	}
	if (ret->list.n)
		qsort(ret->list.v, ret->list.n, sizeof(ret->list.v[0]), compare);
	return 0;
}

const struct object_symbol *symbol_table_at(const struct symbol_table *table, uint64_t addr)
{
	size_t end = PARTITION_POINT(0, table->list.n, i, table->list.v[i].addr <= addr);
	const struct object_symbol *last = end ? &table->list.v[end - 1] : NULL;
	return last && (!last->size || addr - last->addr < last->size) ? last : NULL;
}

const struct object_symbol *symbol_table_called(const struct symbol_table *table, const char *name,
						size_t size)
{
	for (size_t i = 0; i < table->list.n; i++) {
		const struct object_symbol *symbol = &table->list.v[i];
		if (!symbol->is_data && strncmp(symbol->name, name, size) == 0 && !symbol->name[size])
			return symbol;
	}
	return NULL;
}

void symbol_table_deinit(struct symbol_table *table)
{
	vec_free(&table->list);
}
