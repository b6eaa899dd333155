/*
 * pe_symbols.c - symbols of code: the COFF symbol table, the publics of a PDB file, and the export directory
 * for what was stripped.
 *
 * COFF symbols have no sizes: a function ends where the table of unwind data says, or where the next begins.
 */
#include "convert/object/pe/pe.h"

#include "convert/object/pdb/pdb.h"

#include <string.h>

enum {
	IMAGE_SYM_CLASS_EXTERNAL = 2,
	IMAGE_SYM_CLASS_STATIC = 3,
	IMAGE_SYM_CLASS_LABEL = 6,
	IMAGE_SYM_CLASS_WEAK_EXTERNAL = 105,
	COMPLEX_TYPE = 0x30, /* of the type */
	IMAGE_SYM_DTYPE_FUNCTION = 0x20,
	SHORT_NAME_SIZE = 8,
	EXPORTS_SIZE = 40, /* IMAGE_EXPORT_DIRECTORY */
};

struct coff_symbol {
	const uint8_t *name; /* 8 bytes */
	uint32_t value;
	int16_t section; /* number, from 1 on */
	uint16_t type;
	uint8_t class, n_aux;
};

/* ---- Names ---- */

static const char *plain_name(struct object_file *object, const char *name, size_t size, bool is_text)
{
	return coff_plain_name(object, pe_of(object)->machine, name, size, is_text);
}

/* The name in @symbol, or in the string table of @source; "" if there is none, NULL without memory. */
static const char *symbol_name(struct object_file *object, const struct object_file *source,
			       const struct coff_symbol *symbol, struct name_budget *budget)
{
	const struct span strings = pe_of(source)->strings;
	const char *name = (const char *)symbol->name;
	if (load32(symbol->name, false))
		return plain_name(object, name, strnlen(name, SHORT_NAME_SIZE), false);
	uint32_t off = load32(symbol->name + 4, false);
	int64_t size = off >= 4 && off < strings.size
			       ? name_budget_take(budget, strings.data + off, strings.size - off)
			       : -1;
	return size < 0 ? "" : plain_name(object, (const char *)strings.data + off, (size_t)size, true);
}

/* ---- The symbol table ---- */

static bool is_function(const struct coff_symbol *s)
{
	return (s->type & COMPLEX_TYPE) == IMAGE_SYM_DTYPE_FUNCTION;
}

static bool is_wanted(const struct object_file *source, const struct coff_symbol *s)
{
	if (s->section <= 0 || (size_t)s->section > source->sections.n ||
	    !source->sections.v[s->section - 1].code)
		return false;
	switch (s->class) {
	case IMAGE_SYM_CLASS_EXTERNAL:
	case IMAGE_SYM_CLASS_WEAK_EXTERNAL:
	case IMAGE_SYM_CLASS_LABEL: return true;
	case IMAGE_SYM_CLASS_STATIC: return is_function(s) || !s->n_aux; /* else it stands for a section */
	}
	return false;
}

static bool next_coff_symbol(struct cursor *c, struct coff_symbol *ret)
{
	if (!cursor_can_hold(c, 1, COFF_SYMBOL_SIZE))
		return false;
	*ret = (struct coff_symbol){.name = cursor_take(c, SHORT_NAME_SIZE)};
	ret->value = cursor_u32(c);
	ret->section = (int16_t)cursor_u16(c);
	ret->type = cursor_u16(c);
	ret->class = cursor_u8(c);
	ret->n_aux = cursor_u8(c);
	cursor_skip(c, (uint64_t)ret->n_aux * COFF_SYMBOL_SIZE);
	return true;
}

/* Whether functions are told from other labels: objcopy writes no types, for instance into EFI programs. */
static bool has_types(struct cursor c)
{
	struct coff_symbol s;
	while (next_coff_symbol(&c, &s))
		if (is_function(&s))
			return true;
	return false;
}

static int add_coff_symbol(struct object_file *object, const struct object_file *source,
			   const struct coff_symbol *s, bool typed, struct name_budget *budget)
{
	if (!is_wanted(source, s))
		return 0;
	const char *name = symbol_name(object, source, s, budget);
	if (!name)
		return -ENOMEM;
	/* Assemblers' local labels and names of sections; but not ".text" of i386 in "_.text" */
	if (!*name || (!is_function(s) && *name == '.'))
		return 0;
	uint64_t addr = source->sections.v[s->section - 1].addr + s->value;
	return pe_add_symbol(object, addr, name, is_function(s) || !typed ? SYMBOL_FUNC : SYMBOL_NOTYPE,
			     s->class != IMAGE_SYM_CLASS_STATIC && s->class != IMAGE_SYM_CLASS_LABEL);
}

static int load_table(struct object_file *object, const struct object_file *source)
{
	const struct pe *pe = pe_of(source);
	struct cursor c = cursor_new(pe->symbols.data, pe->symbols.size, false);
	struct name_budget budget = name_budget_of(pe->symbols.size + pe->strings.size);
	struct coff_symbol s;
	bool typed = has_types(c);
	int err = 0;
	object->symbols_damaged |= pe->n_symbols && !pe->symbols.data;
	while (!err && next_coff_symbol(&c, &s))
		err = add_coff_symbol(object, source, &s, typed, &budget);
	object->names_exceeded |= budget.exceeded;
	object->name_bytes += (pe->symbols.size + pe->strings.size) * BUDGET_NAMES - budget.left;
	return err;
}

/* ---- Exports ---- */

/* A table of the directory: @n elements of @size bytes, or as many as the file has. */
static struct span export_table(const struct object_file *object, uint32_t rva, uint32_t n, size_t size)
{
	struct span bytes = rva ? pe_bytes(object, rva) : (struct span){0};
	bytes.size = n < bytes.size / size ? n * size : bytes.size / size * size;
	return bytes;
}

struct exports {
	struct span functions, names, ordinals;
};

/* Exports by name. Those in the directory itself are names of other files' functions. */
static int load_exports(struct object_file *object)
{
	const struct pe_directory *directory = &pe_of(object)->directories[DIRECTORY_EXPORT];
	struct span bytes = pe_directory_bytes(object, DIRECTORY_EXPORT);
	struct cursor c = cursor_new(bytes.data, bytes.size, false);
	cursor_skip(&c, 20);
	uint32_t n_functions = cursor_u32(&c), n_names = cursor_u32(&c);
	uint32_t functions = cursor_u32(&c), names = cursor_u32(&c), ordinals = cursor_u32(&c);
	struct exports e = (struct exports){
		export_table(object, functions, n_functions, 4),
		export_table(object, names, n_names, 4),
		export_table(object, ordinals, n_names, 2),
	};
	struct name_budget budget = name_budget_of(bytes.size + e.names.size);
	struct known_addresses known;
	if (known_addresses_make(object, &known))
		return -ENOMEM;
	CLEANUP(freep) uint64_t *owned = known.v;
	for (size_t i = 0; i < e.names.size / 4 && i < e.ordinals.size / 2; i++) {
		uint32_t ordinal = load16(e.ordinals.data + 2 * i, false);
		uint32_t rva =
			ordinal < e.functions.size / 4 ? load32(e.functions.data + 4 * ordinal, false) : 0;
		uint64_t addr = object->base_address + rva;
		if (!rva || rva - directory->rva < directory->size || !ranges_find(&object->text, addr) ||
		    known_address(&known, addr))
			continue;
		const char *name = pe_text(object, load32(e.names.data + 4 * i, false), &budget);
		name = name ? plain_name(object, name, strlen(name), true) : "";
		if (!name || (*name && pe_add_symbol(object, addr, name, SYMBOL_FUNC, true)))
			return -ENOMEM;
	}
	object->names_exceeded |= budget.exceeded;
	return 0;
}

int pe_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources)
{
	int err = 0;
	for (size_t i = 0; i < n_sources && !err && !object->symbols.n; i++)
		if (sources[i]->format == &pe_format)
			err = load_table(object, sources[i]);
	if (!err)
		err = pdb_load_symbols(object, sources, n_sources);
	pe_of(object)->has_symbols = object->symbols.n > 0;
	if (!err)
		err = load_exports(object);
	return err ? err : pe_bound_symbols(object);
}
