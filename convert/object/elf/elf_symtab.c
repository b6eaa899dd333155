/*
 * elf_symtab.c - symbol tables (System V gABI, chapter 4, "Symbol Table").
 */
#include "convert/object/elf/elf.h"
#include "convert/record/budget.h"
#include "gsym/base/search.h"
#include "gsym/base/sort.h"

#include <string.h>

/* Targets whose symbols of code carry a mode in bit 0: Thumb, MIPS16 and microMIPS. */
static uint64_t code_address(const struct object_file *object, const GElf_Sym *sym, uint64_t value)
{
	enum { MODE_MASK = 0xc0, MICROMIPS = 0x80, MIPS16 = 0xc0 }; /* in st_other; MIPS16 is 0xf0 */
	bool func = GELF_ST_TYPE(sym->st_info) != STT_NOTYPE, mode_bit = false;
	unsigned mode = sym->st_other & MODE_MASK;
	if (object->machine == EM_ARM)
		mode_bit = func;
	else if (object->machine == EM_MIPS)
		mode_bit = func || mode == MICROMIPS || mode == MIPS16;
	return mode_bit ? value & ~(uint64_t)1 : value;
}

/* ".name", the code of a function descriptor; but not ".L1" */
static bool is_dotted(const char *name)
{
	return name[0] == '.' && name[1] && name[1] != '.' && strncmp(name, ".L", 2) != 0;
}

/* Whether a label lies past the end of its section of code, which another one may follow. */
static bool is_past_section(const struct object_file *source, const GElf_Sym *sym, uint64_t addr)
{
	size_t index = sym->st_shndx;
	if (!index || index >= SHN_LORESERVE || index > source->sections.n)
		return false;
	const struct object_section *s = &source->sections.v[index - 1];
	return s->code && addr - s->addr >= s->size;
}

/* Labels in no code, but for compilers' local ones. */
static int add_outside(struct object_file *object, const struct symbol *s)
{
	bool local = s->name[0] == '$' || !strncmp(s->name, ".L", 2);
	return s->size || local ? 0 : vec_push(&object->outside, (struct outside_label){s->addr, s->name});
}

static int add_symbol(struct object_file *object, const struct object_file *source, const GElf_Sym *sym,
		      uint64_t section, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	bool func = type == STT_FUNC || type == STT_GNU_IFUNC;
	bool placed = sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_COMMON &&
		      (func || sym->st_shndx != SHN_ABS);
	if (!placed || !name || !*name || (!func && type != STT_NOTYPE))
		return 0; /* an absolute symbol is a number, even if it looks like an address */
	uint64_t value = descriptor_code(object, sym->st_value + section);
	bool dotted = func && elf_of(object)->opd && is_dotted(name);
	struct symbol s = {
		.addr = code_address(object, sym, value),
		.size = sym->st_size,
		.name = name + dotted,
		.dotted = dotted,
		.type = func ? SYMBOL_FUNC : SYMBOL_NOTYPE,
		.global = GELF_ST_BIND(sym->st_info) != STB_LOCAL,
		.resolver = type == STT_GNU_IFUNC,
	};
	bool in_code = object->text.n ? ranges_find(&object->text, s.addr) != NULL : func;
	if (!func && (!in_code || is_past_section(source, sym, s.addr)))
		return add_outside(object, &s);
	if (!in_code)
		return 0;
	return vec_push(&object->symbols, s);
}

/*
 * gcc -flto emits symbols for offsets in .debug_info ("main.c.02f5d134"), which may look like code addresses.
 */
static bool is_offset(const struct object_file *source, const GElf_Sym *sym)
{
	size_t index = sym->st_shndx;
	return index && index < SHN_LORESERVE && index <= source->sections.n &&
	       !source->sections.v[index - 1].allocated;
}

/* Whether the symbol touches one of the ranges that symbols are wanted of. */
static bool is_near(struct object_file *object, const GElf_Sym *sym, uint64_t section)
{
	const range_vec *near = object->near;
	uint64_t lo = code_address(object, sym, sym->st_value + section), hi;
	if (__builtin_add_overflow(lo, sym->st_size ? sym->st_size : 1, &hi))
		hi = UINT64_MAX;
	size_t at = PARTITION_POINT(0, near->n, mid, near->v[mid].hi <= lo);
	bool found = at < near->n && near->v[at].lo < hi;
	object->passed_by |= !found;
	return found;
}

/* @data, cut at its last NUL. */
static struct span whole_strings(const void *data, size_t size)
{
	const uint8_t *last = data && size ? memrchr(data, 0, size) : NULL;
	return last ? (struct span){data, (size_t)(last - (const uint8_t *)data) + 1} : (struct span){0};
}

/* The string table of a symbol table; empty when there is none. */
static struct span string_table(struct object_file *source, size_t index)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = elf_getscn(elf_of(source)->handle, index);
	Elf_Data *data =
		scn && gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_STRTAB ? elf_table(source, scn) : NULL;
	return data ? whole_strings(data->d_buf, data->d_size) : (struct span){0};
}

/* Adds the symbols of one table of @source to @object. @indexes: its SHT_SYMTAB_SHNDX section, or NULL. */
static int add_symbols(struct object_file *object, struct object_file *source, Elf_Data *data,
		       Elf_Data *indexes, struct span strings)
{
	size_t n = data->d_size / gelf_fsize(elf_of(source)->handle, ELF_T_SYM, 1, EV_CURRENT);
	struct name_budget names = name_budget_of(data->d_size + strings.size);
	for (size_t i = 1; i < n; i++) {
		GElf_Sym sym;
		uint64_t section;
		if (!symbol_read(source, data, indexes, i, &sym, &section))
			break;
		unsigned type = GELF_ST_TYPE(sym.st_info);
		if (type == STT_OBJECT || type == STT_SECTION || type == STT_FILE)
			continue; /* most of the table: avoid reading their names */
		if (is_offset(source, &sym))
			continue;
		if (object->near && !is_near(object, &sym, section))
			continue;
		if (sym.st_name >= strings.size ||
		    name_budget_take(&names, strings.data + sym.st_name, strings.size - sym.st_name) < 0)
			continue;
		if (add_symbol(object, source, &sym, section, (const char *)strings.data + sym.st_name))
			return -ENOMEM;
	}
	object->names_exceeded |= names.exceeded;
	object->name_bytes += (data->d_size + strings.size) * BUDGET_NAMES - names.left;
	return 0;
}

/* The table in section @scn. */
static int load_table(struct object_file *object, struct object_file *source, Elf_Scn *scn,
		      const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_table(source, scn),
		 *indexes = source->relocatable ? extended_indexes(source, scn) : NULL;
	if (data && shdr->sh_entsize && data->d_buf)
		return add_symbols(object, source, data, indexes, string_table(source, shdr->sh_link));
	object->symbols_damaged |= shdr->sh_type == SHT_SYMTAB && shdr->sh_size;
	return 0;
}

/* The table that PT_DYNAMIC has, of a file without section headers. */
static int load_dynamic(struct object_file *object)
{
	Elf_Data *data = object->sections.n ? NULL : elf_dynamic_symbols(object);
	struct span strings = elf_dynamic_strings(object);
	return data && data->d_buf
		       ? add_symbols(object, object, data, NULL, whole_strings(strings.data, strings.size))
		       : 0;
}

/* Drops the symbols from index @first on that share an address with one before @first. */
static int symbols_drop_known(struct object_file *object, size_t first)
{
	uint64_t *known = malloc((first + 1) * sizeof(*known));
	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < first; i++)
		known[i] = object->symbols.v[i].addr;
	qsort(known, first, sizeof(*known), compare_u64);
	size_t kept = first;
	for (size_t i = first; i < object->symbols.n; i++)
		if (!bsearch(&object->symbols.v[i].addr, known, first, sizeof(*known), compare_u64))
			object->symbols.v[kept++] = object->symbols.v[i];
	object->symbols.n = kept;
	free(known);
	return 0;
}

/* The first section of that type; the gABI allows one. Many that share their bytes would cost time. */
static int load_first_table(struct object_file *object, struct object_file *source, uint32_t type)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf_of(source)->handle, scn));) {
		GElf_Shdr shdr;
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == type && shdr.sh_size)
			return load_table(object, source, scn, &shdr);
	}
	return 0;
}

static bool has_unsized(const struct object_file *object)
{
	for (size_t i = 0; i < object->symbols.n; i++)
		if (!object->symbols.v[i].size)
			return true;
	return false;
}

int elf_load_symbols(struct object_file *object, struct object_file *const *sources, size_t n_sources)
{
	int err = descriptors_open(object);
	for (size_t i = 0; i < n_sources && !err && !object->symbols.n && !object->passed_by; i++)
		if (sources[i]->format == &elf_format)
			err = load_first_table(object, sources[i], SHT_SYMTAB);
	if (err)
		return err;
	size_t first = object->symbols.n;
	err = load_first_table(object, object, SHT_DYNSYM);
	if (!err && object->symbols.n == first)
		err = load_dynamic(object);
	if (!err)
		err = symbols_drop_known(object, first);
	if (!err)
		err = descriptors_join(object);
	return err || object->near || !has_unsized(object) ? err : elf_list_functions(object);
}
