#include "cli/symbolizer/symbol_answer.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "convert/object/source_format.h"
#include "gsym/base/cursor.h"
#include "gsym/read/name_index.h"

enum { SYMBOL_PLACES_MAX = 1024 };

void symbol_answer_deinit(struct symbol_answer *answer)
{
	vec_free(&answer->frames);
	gsym_answer_deinit(&answer->found);
}

/* ---- The symbol table of ELF; other formats have none here ---- */

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
		.is_64 = object->addr_size == 8,
	};
	return true;
}

static void read_symbol(struct symbol_walk *walk)
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

/* Returns true for a variable or function that this file defines and names. */
static bool has_symbol_place(struct symbol_walk *walk)
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

static bool next_symbol(struct symbol_walk *walk)
{
	while (cursor_left(&walk->entries)) {
		read_symbol(walk);
		if (cursor_ok(&walk->entries) && has_symbol_place(walk))
			return true;
	}
	return false;
}

/* The symbol of a variable or function that has @addr, or the last before it that tells no size. False if
 * there is none. */
static bool object_symbol_at(struct object_file *object, uint64_t addr, struct object_symbol *ret)
{
	struct symbol_walk walk;
	struct object_symbol best = {.name = NULL};
	if (!begin_walk(&walk, object))
		return false;
	while (next_symbol(&walk)) {
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

/* The first symbol of a function with that name. */
static bool object_symbol_called(struct object_file *object, const char *name, size_t size,
				 struct object_symbol *ret)
{
	struct symbol_walk walk;
	if (!begin_walk(&walk, object))
		return false;
	while (next_symbol(&walk)) {
		if (walk.type != STT_OBJECT && strncmp(walk.symbol.name, name, size) == 0 &&
		    !walk.symbol.name[size]) {
			*ret = walk.symbol;
			return true;
		}
	}
	return false;
}

/* ---- Frames ---- */

static int push_frame(struct symbol_answer *answer, const struct gsym_frame *named,
		      const struct gsym_frame *at, uint64_t addr)
{
	const struct shown_frame frame = {named->name, at->dir, at->base, at->line, addr - named->offset};
	return vec_push(&answer->frames, frame);
}

/* The function that has code of its own, with the line of the innermost one. */
static int push_outermost(struct symbol_answer *answer, uint64_t addr)
{
	const struct gsym_answer *found = &answer->found;
	return push_frame(answer, &found->frames[found->n_frames - 1], &found->frames[0], addr);
}

/* Fills answer->found. -ENOENT also for a damaged record; -ENOMEM. */
static int look_up(struct symbol_answer *answer, uint64_t addr)
{
	unsigned flags = answer->options->skip_line_zero ? GSYM_LOOKUP_NEAR : 0;
	int err = gsym_lookup_flags(answer->module->image.reader, addr, 0, flags, &answer->found, NULL);
	if (!err && !answer->found.n_frames)
		return -ENOENT;
	return err && err != -ENOMEM ? -ENOENT : err;
}

/* Without inlined frames LLVM's own style names the function in the symbol table, others the innermost. */
static bool wants_outermost(const struct symbolizer_options *options)
{
	return options->style >= ANSWER_LLVM && options->names == FUNCTION_NAMES_LINKAGE;
}

static int add_code(struct symbol_answer *answer, uint64_t addr)
{
	const struct gsym_answer *found = &answer->found;
	int err = look_up(answer, addr);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (!answer->options->inlines && wants_outermost(answer->options))
		return push_outermost(answer, addr);
	for (size_t i = 0; !err && i < (answer->options->inlines ? found->n_frames : 1); i++)
		err = push_frame(answer, &found->frames[i], &found->frames[i], addr);
	return err;
}

/* ---- Addresses ---- */

/* Adds where the section of the options begins. 0 or -ENOMEM. */
static int add_section_start(struct symbol_answer *answer, uint64_t *addr)
{
	struct object_file *object = NULL;
	const char *name = answer->options->section;
	int err = name ? module_object(answer->module, &object) : 0;
	const struct object_section *section = object ? object_section(object, name) : NULL;
	*addr += section ? section->addr : 0;
	return err;
}

/* The address in the file. 0 or -ENOMEM. */
static int link_address(struct symbol_answer *answer, uint64_t addr, uint64_t *ret)
{
	*ret = addr - answer->options->adjust_vma +
	       (answer->options->relative ? answer->module->image.base : 0);
	return add_section_start(answer, ret);
}

static int answer_code(struct symbol_answer *answer)
{
	uint64_t addr;
	int err = link_address(answer, answer->addr, &addr);
	return err ? err : add_code(answer, addr);
}

/* ---- Symbols ---- */

typedef VEC(uint64_t) address_vec;

/* Aliases are in the symbol table only. */
static int find_alias(struct symbol_answer *answer, struct text_part name, address_vec *ret)
{
	struct object_file *object;
	struct object_symbol symbol;
	int err = module_object(answer->module, &object);
	if (err || !object || !object_symbol_called(object, name.text, name.size, &symbol))
		return err;
	return vec_push(ret, symbol.addr);
}

/* The addresses of the functions that are called @name. */
static int find_named(struct symbol_answer *answer, struct text_part name, address_vec *ret)
{
	const struct gsym_reader *reader = answer->module->image.reader;
	struct name_search search;
	struct name_hit hit;
	int err = name.size ? name_search_begin(&search, reader, name.text, name.size) : 0;
	while (!err && name.size && ret->n < SYMBOL_PLACES_MAX && name_search_next(&search, &hit))
		err = vec_push(ret, gsym_reader_address(reader, hit.index));
	return err || ret->n || !name.size ? err : find_alias(answer, name, ret);
}

static int add_symbol(struct symbol_answer *answer, uint64_t addr)
{
	int err = look_up(answer, addr);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (answer->options->names == FUNCTION_NAMES_LINKAGE || answer->options->names == FUNCTION_NAMES_NONE)
		return push_outermost(answer, addr);
	return push_frame(answer, &answer->found.frames[0], &answer->found.frames[0], addr);
}

/* addr2line takes the first function of that name, LLVM all. */
static int answer_symbol(struct symbol_answer *answer)
{
	const struct symbol_query *query = answer->query;
	bool as_address = query->may_be_address;
	address_vec found = {0};
	int err = find_named(answer, query->symbol, &found);
	if (as_address && !err) {
		if (found.n)
			answer->addr = found.v[0] + query->offset;
		err = found.n ? add_code(answer, answer->addr) : answer_code(answer);
	}
	for (size_t i = 0; !err && !as_address && i < found.n; i++)
		err = add_symbol(answer, found.v[i] + query->offset);
	vec_free(&found);
	return err;
}

/* ---- Data ---- */

/* Without the tag that a pointer may carry in its first byte. */
static uint64_t untagged(uint64_t addr)
{
	return (uint64_t)((int64_t)(addr << 8) >> 8);
}

static int answer_data(struct symbol_answer *answer)
{
	uint64_t addr;
	struct object_file *object;
	int err = link_address(answer, answer->addr, &addr);
	if (!err)
		err = module_object(answer->module, &object);
	if (!err && object)
		object_symbol_at(object, answer->options->tagged ? addr : untagged(addr), &answer->data);
	return err;
}

/* ---- All ---- */

/* The messages of LLVM where there is one for it. */
static const char *message_of(const struct symbol_module *module, int err)
{
	if (err == -ENOENT && !module->by_id)
		return "No such file or directory";
	if (err == -EISDIR)
		return "Is a directory";
	if (err == -ENOEXEC || err == -EMEDIUMTYPE)
		return "The file was not recognized as a valid object file";
	return module->diag.text;
}

static void answer_begin(struct symbol_answer *answer, const struct symbolizer_options *options,
			 const struct symbol_query *query, struct symbol_module *module)
{
	answer->options = options;
	answer->query = query;
	answer->module = module;
	answer->addr = query->addr;
	if (options->dialect == DIALECT_BINUTILS && module && module->is_32_bit)
		answer->addr = (uint32_t)answer->addr; /* they may be given with their sign */
	answer->error = query->why;
	answer->frames.n = 0;
	answer->data.name = NULL;
}

int symbol_answer_from(struct symbol_module *module, const struct symbolizer_options *options,
		       const struct symbol_query *query, struct symbol_answer *answer)
{
	answer_begin(answer, options, query, module);
	switch (query->kind) {
	case QUERY_CODE: return answer_code(answer);
	case QUERY_SYMBOL: return answer_symbol(answer);
	case QUERY_DATA: return answer_data(answer);
	default: return 0;
	}
}

int symbol_answer_make(struct module_table *table, const struct symbol_query *query,
		       struct symbol_answer *answer)
{
	struct symbol_module *module = NULL;
	int err = query->kind == QUERY_INVALID ? 0 : module_find(table, query, &module);
	if (!err && module)
		return symbol_answer_from(module, table->options, query, answer);
	answer_begin(answer, table->options, query, module);
	if (module)
		answer->error = message_of(module, err);
	return err == -ENOMEM ? err : 0;
}
