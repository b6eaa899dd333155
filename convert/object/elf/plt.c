/*
 * plt.c - stubs of procedure linkage tables as functions "name@plt", as objdump names them.
 *
 * Symbol tables do not have them, but backtraces and profiles do. Data: the slots of all dynamic relocations,
 * sorted by address (radix sort). Method: each position in a code section where a stub may begin is decoded
 * (plt_stub.c), and the relocation of the slot it jumps through, found by binary search, names the function,
 * so that the order of entries does not matter. PLT headers, and the second half of entries split for branch
 * tracking, jump through no such slot and get no name. A budget proportional to the file's size bounds
 * tables, code and names, which a hostile file could share many times.
 *
 * A slot filled by a resolver (IRELATIVE) has no symbol: the entry is named after the STT_GNU_IFUNC symbol at
 * the resolver's address, else any function symbol there, else "*ABS*+0x..." as in objdump.
 */
#include "convert/object/elf/elf.h"
#include "gsym/base/sort.h"
#include "gsym/base/cursor.h"
#include "gsym/base/search.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>

enum {
	VISITS_MAX = 1 << 24, /* sections visited to find the bytes at an address */
	GLINK_ENTRIES = 32,   /* from DT_PPC64_GLINK to the first entry */
};

/* A relocation table the dynamic linker reads, and its symbols. */
struct relocations {
	Elf_Data *data, *symbols;
	size_t link;    /* section of the symbols */
	size_t strings; /* section */
	uint64_t addr;
	bool rela;
};

struct plt_slot {
	uint64_t addr, addend;
	uint32_t table, symbol; /* symbol 0: a resolver's address is the addend */
};

struct plt {
	struct object_file *object;
	struct stub_machine machine;
	VEC(struct relocations) tables;
	VEC(struct plt_slot) slots;
	struct keyed *by_addr;   /* slots */
	struct keyed *functions; /* object->symbols by address, made when first wanted */
	size_t n_functions;
	struct relocations dynsym; /* only its symbols: of stubs that name theirs by number */
	uint64_t glink, jmprel;    /* DT_PPC64_GLINK and DT_JMPREL */
	uint64_t budget; /* bytes of tables, code and names: a file may point at the same ones many times */
	uint32_t visits;
};

static bool spend(struct plt *p, uint64_t bytes)
{
	if (bytes > p->budget)
		return false;
	p->budget -= bytes;
	return true;
}

/* ---- Slots ---- */

/* Whether the dynamic linker stores the result of the resolver at the addend. */
static bool is_irelative(uint16_t machine, uint64_t type)
{
	switch (machine) {
	case EM_X86_64: return type == R_X86_64_IRELATIVE;
	case EM_386: return type == R_386_IRELATIVE;
	case EM_AARCH64: return type == R_AARCH64_IRELATIVE;
	case EM_ARM: return type == R_ARM_IRELATIVE;
	case EM_RISCV: return type == R_RISCV_IRELATIVE;
	case EM_LOONGARCH: return type == R_LARCH_IRELATIVE;
	case EM_S390: return type == R_390_IRELATIVE;
	case EM_PPC64: return type == R_PPC64_IRELATIVE || type == R_PPC64_JMP_IREL;
	}
	return false;
}

/* The word at an address, from the bytes in the file. False where there are none. */
static bool word_at(struct plt *p, uint64_t addr, uint64_t *ret)
{
	const struct object_file *object = p->object;
	for (size_t i = 0; i < object->sections.n && p->visits < VISITS_MAX; i++, p->visits++) {
		const struct object_section *s = &object->sections.v[i];
		if (addr < s->addr || addr - s->addr >= s->raw.size || s->raw.size != s->size)
			continue;
		struct cursor c = cursor_new(s->raw.data, s->raw.size, object->big_endian);
		cursor_seek(&c, addr - s->addr);
		*ret = cursor_uint(&c, object->addr_size);
		return cursor_ok(&c);
	}
	return false;
}

/*
 * Any relocation type with a symbol is accepted, because a stub jumps through the slot. Linkers use different
 * ones (JUMP_SLOT, GLOB_DAT, a plain word on RISC-V).
 */
static int add_slot(struct plt *p, uint64_t off, uint64_t symbol, uint64_t type, uint64_t addend)
{
	if (symbol ? symbol > UINT32_MAX : !is_irelative(p->object->machine, type))
		return 0;
	return vec_push(&p->slots, (struct plt_slot){.addr = off,
						     .addend = addend,
						     .symbol = (uint32_t)symbol,
						     .table = (uint32_t)(p->tables.n - 1)});
}

/* 64-bit MIPS has three types; its little-endian files keep the symbol in the low half. */
static uint64_t symbol_of(const struct object_file *object, uint64_t info)
{
	bool swapped = object->machine == EM_MIPS && object->addr_size == 8 && !object->big_endian;
	return swapped ? info & UINT32_MAX : GELF_R_SYM(info);
}

static int read_relocations(struct plt *p, const struct relocations *t)
{
	int err = 0;
	for (int i = 0; i < INT32_MAX && !err; i++) {
		GElf_Rela rela = {0};
		GElf_Rel rel = {0};
		if (t->rela ? !gelf_getrela(t->data, i, &rela) : !gelf_getrel(t->data, i, &rel))
			break;
		uint64_t info = t->rela ? rela.r_info : rel.r_info;
		err = add_slot(p, t->rela ? rela.r_offset : rel.r_offset, symbol_of(p->object, info),
			       GELF_R_TYPE(info), (uint64_t)rela.r_addend);
	}
	return err;
}

static bool is_dynamic_relocations(const GElf_Shdr *shdr)
{
	return (shdr->sh_type == SHT_RELA || shdr->sh_type == SHT_REL) && (shdr->sh_flags & SHF_ALLOC);
}

/* The symbols of a table, mostly those of the previous table. libelf may copy them, so they count against the
 * budget.
 */
static void link_symbols(struct plt *p, size_t link, struct relocations *ret)
{
	const struct relocations *last = p->tables.n ? &p->tables.v[p->tables.n - 1] : NULL;
	Elf_Scn *scn = elf_getscn(elf_of(p->object)->handle, link);
	GElf_Shdr shdr;
	ret->link = link;
	if (last && last->link == link) {
		ret->symbols = last->symbols;
		ret->strings = last->strings;
	} else if (scn && gelf_getshdr(scn, &shdr) &&
		   (shdr.sh_type == SHT_DYNSYM || shdr.sh_type == SHT_SYMTAB) && spend(p, shdr.sh_size)) {
		ret->symbols = elf_table(p->object, scn);
		ret->strings = shdr.sh_link;
	}
}

static int read_table(struct plt *p, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	struct relocations t = {.addr = shdr->sh_addr, .rela = shdr->sh_type == SHT_RELA};
	t.data = spend(p, shdr->sh_size) ? elf_table(p->object, scn) : NULL;
	if (!t.data || !t.data->d_buf)
		return 0;
	link_symbols(p, shdr->sh_link, &t);
	int err = vec_push(&p->tables, t);
	return err ? err : read_relocations(p, &t);
}

/* The base that stubs address slots from, and the glink entries of ppc64, which only the dynamic linker
 * enters. */
static void read_dynamic(struct plt *p, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data = spend(p, shdr->sh_size) ? elf_table(p->object, scn) : NULL;
	GElf_Dyn dyn;
	for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		if (dyn.d_tag == DT_PLTGOT && p->object->machine == EM_386)
			p->machine.base = dyn.d_un.d_ptr;
		if (dyn.d_tag == DT_PPC64_GLINK && p->object->machine == EM_PPC64)
			p->glink = dyn.d_un.d_ptr;
		if (dyn.d_tag == DT_JMPREL)
			p->jmprel = dyn.d_un.d_ptr;
	}
}

static int read_tables(struct plt *p)
{
	int err = 0;
	for (Elf_Scn *scn = NULL; !err && (scn = elf_nextscn(elf_of(p->object)->handle, scn));) {
		GElf_Shdr shdr;
		if (!gelf_getshdr(scn, &shdr))
			continue;
		if (is_dynamic_relocations(&shdr))
			err = read_table(p, scn, &shdr);
		else if (shdr.sh_type == SHT_DYNAMIC)
			read_dynamic(p, scn, &shdr);
		else if (shdr.sh_type == SHT_DYNSYM && !p->dynsym.symbols) {
			p->dynsym.symbols = elf_table(p->object, scn);
			p->dynsym.strings = shdr.sh_link;
		}
	}
	return err;
}

static int sort_slots(struct plt *p)
{
	p->by_addr = malloc((p->slots.n + 1) * sizeof(*p->by_addr));
	if (!p->by_addr || p->slots.n > UINT32_MAX)
		return -ENOMEM;
	for (size_t i = 0; i < p->slots.n; i++)
		p->by_addr[i] = (struct keyed){p->slots.v[i].addr, (uint32_t)i};
	return radix_sort(p->by_addr, p->slots.n);
}

/* The first of @keys with that key, as index; @n when there is none. */
static size_t find_key(const struct keyed *keys, size_t n, uint64_t key)
{
	size_t lo = PARTITION_POINT(0, n, mid, keys[mid].key < key);
	return lo < n && keys[lo].key == key ? lo : n;
}

static const struct plt_slot *find_slot(const struct plt *p, uint64_t addr)
{
	size_t i = find_key(p->by_addr, p->slots.n, addr);
	return i < p->slots.n ? &p->slots.v[p->by_addr[i].index] : NULL;
}

/* ---- Names ---- */

static int sort_functions(struct plt *p)
{
	const struct object_file *object = p->object;
	if (p->functions)
		return 0;
	p->functions = malloc((object->symbols.n + 1) * sizeof(*p->functions));
	if (!p->functions || object->symbols.n > UINT32_MAX)
		return -ENOMEM;
	p->n_functions = object->symbols.n;
	for (size_t i = 0; i < p->n_functions; i++)
		p->functions[i] = (struct keyed){object->symbols.v[i].addr, (uint32_t)i};
	return radix_sort(p->functions, p->n_functions);
}

/* Prefers memcpy to __memcpy_chk and __memcpy, which share its resolver. */
static int function_rank(const struct symbol *s)
{
	return s->resolver * 2 + (s->name[0] != '_');
}

/* Makes "name@plt", without symbol version, in object->names. *ret stays NULL when the budget is used up. */
static int make_name(struct plt *p, const char *name, const char **ret)
{
	static const char suffix[] = "@plt";
	size_t n = strcspn(name, "@");
	if (!spend(p, n + sizeof(suffix)))
		return 0;
	char *made = arena_alloc(&p->object->names, n + sizeof(suffix));
	if (!made)
		return -ENOMEM;
	memcpy(made, name, n);
	memcpy(made + n, suffix, sizeof(suffix));
	*ret = made;
	return 0;
}

static const char *symbol_name(const struct plt *p, const struct relocations *t, uint64_t symbol)
{
	GElf_Sym sym;
	if (!t->symbols || symbol > INT32_MAX || !gelf_getsym(t->symbols, (int)symbol, &sym) || !sym.st_name)
		return NULL;
	return elf_strptr(elf_of(p->object)->handle, t->strings, sym.st_name);
}

static int name_resolver(struct plt *p, const struct plt_slot *slot, const char **ret)
{
	uint64_t addr = slot->addend;
	char text[32];
	int err = sort_functions(p);
	if (err || (!p->tables.v[slot->table].rela && !word_at(p, slot->addr, &addr)))
		return err;
	addr = descriptor_code(p->object, addr);
	if (p->object->machine == EM_ARM)
		addr &= ~(uint64_t)1;
	const struct symbol *best = NULL;
	size_t i = find_key(p->functions, p->n_functions, addr);
	for (; i < p->n_functions && p->functions[i].key == addr; i++) {
		const struct symbol *s = &p->object->symbols.v[p->functions[i].index];
		if (s->type == SYMBOL_FUNC && (!best || function_rank(s) > function_rank(best)))
			best = s;
	}
	const char *name = best ? best->name : NULL;
	snprintf(text, sizeof(text), "*ABS*+0x%llx", (unsigned long long)addr);
	return make_name(p, name ? name : text, ret);
}

/* The name of a stub; *ret stays NULL when nothing names it. */
static int name_slot(struct plt *p, const struct plt_slot *slot, const char **ret)
{
	if (slot && !slot->symbol)
		return name_resolver(p, slot, ret);
	const char *name = slot ? symbol_name(p, &p->tables.v[slot->table], slot->symbol) : NULL;
	return name && *name ? make_name(p, name, ret) : 0;
}

static int name_stub(struct plt *p, const struct stub *stub, const char **ret)
{
	if (!stub->by_symbol)
		return name_slot(p, find_slot(p, stub->slot), ret);
	const char *name = stub->symbol ? symbol_name(p, &p->dynsym, stub->symbol) : NULL;
	return name && *name ? make_name(p, name, ret) : 0;
}

/* ---- Sections ---- */

static bool may_hold_stubs(const struct object_file *object, const struct object_section *s)
{
	if (!s->code || !s->raw.size || s->raw.size > s->size || s->compression != COMPRESSION_NONE)
		return false;
	return object->machine == EM_PPC64 || !strncmp(s->name, ".plt", 4) || !strncmp(s->name, ".iplt", 5) ||
	       !strcmp(s->name, ".MIPS.stubs");
}

/* Appends a stub and truncates the previous one where this begins. */
static int push_stub(struct object_file *object, size_t first, uint64_t addr, uint64_t size, const char *name)
{
	struct symbol *last = object->symbols.n > first ? &object->symbols.v[object->symbols.n - 1] : NULL;
	if (last && addr - last->addr < last->size)
		last->size = addr - last->addr;
	return vec_push(
		&object->symbols,
		(struct symbol){
			.addr = addr, .size = size, .name = name, .type = SYMBOL_STUB, .global = true});
}

static int scan_section(struct plt *p, const struct object_section *s, unsigned step)
{
	struct cursor c = cursor_new(s->raw.data, s->raw.size, p->object->big_endian);
	size_t first = p->object->symbols.n;
	uint64_t ended = 0; /* end of the last stub: none begins inside of another */
	if (s->addr > UINT64_MAX - s->raw.size || !spend(p, s->raw.size))
		return 0;
	for (uint64_t off = 0; off < s->raw.size; off += step) {
		const char *name = NULL;
		struct stub stub;
		cursor_seek(&c, off);
		if (off < ended || !stub_decode(&p->machine, c, s->addr + off, &stub))
			continue;
		uint64_t left = cursor_left(&c);
		int err = name_stub(p, &stub, &name);
		if (!err && name)
			err = push_stub(p->object, first, s->addr + off, left < stub.size ? left : stub.size,
					name);
		if (err)
			return err;
		if (name)
			ended = off + stub.prefix + step;
	}
	return 0;
}

static int scan_sections(struct plt *p)
{
	unsigned step = stub_step(&p->machine);
	const struct object_file *object = p->object;
	int err = 0;
	for (size_t i = 0; step && !err && i < object->sections.n; i++)
		if (may_hold_stubs(object, &object->sections.v[i]))
			err = scan_section(p, &object->sections.v[i], step);
	return err;
}

/* ---- Entries of ppc64 for lazy binding ---- */

/* The next entry: [li r0, index, or lis and ori;] b resolver. Without index it is the number of the entry. */
static bool take_glink_entry(struct cursor *c, uint64_t number, uint64_t *ret)
{
	uint32_t word = cursor_u32(c);
	*ret = number;
	if (word >> 16 == 0x3800) { /* li r0 */
		*ret = word & 0xffff;
		word = cursor_u32(c);
	} else if (word >> 16 == 0x3c00) { /* lis r0; ori r0, r0 */
		*ret = (uint64_t)(word & 0xffff) << 16 | (cursor_u32(c) & 0xffff);
		word = cursor_u32(c);
	}
	return cursor_ok(c) && (word & 0xfc000003) == 0x48000000;
}

/* The slot of entry @index of the table at DT_JMPREL. */
static bool jump_slot(const struct plt *p, uint64_t index, struct plt_slot *ret)
{
	GElf_Rela rela;
	for (size_t i = 0; i < p->tables.n && index < INT32_MAX; i++) {
		const struct relocations *t = &p->tables.v[i];
		if (t->addr != p->jmprel || !t->rela || !gelf_getrela(t->data, (int)index, &rela))
			continue;
		*ret = (struct plt_slot){.addr = rela.r_offset,
					 .addend = (uint64_t)rela.r_addend,
					 .table = (uint32_t)i,
					 .symbol = (uint32_t)GELF_R_SYM(rela.r_info)};
		return ret->symbol != 0;
	}
	return false;
}

static int scan_glink(struct plt *p, const struct object_section *s)
{
	struct cursor c = cursor_new(s->raw.data, s->raw.size, p->machine.big);
	uint64_t index;
	struct plt_slot slot;
	cursor_seek(&c, p->glink + GLINK_ENTRIES - s->addr);
	for (uint64_t number = 0;; number++) {
		const char *name = NULL;
		uint64_t off = cursor_off(&c);
		if (!take_glink_entry(&c, number, &index) || !jump_slot(p, index, &slot))
			return 0;
		int err = name_slot(p, &slot, &name);
		if (!err && name)
			err = push_stub(p->object, p->object->symbols.n, s->addr + off, cursor_off(&c) - off,
					name);
		if (err || !name)
			return err;
	}
}

static int scan_glinks(struct plt *p)
{
	for (size_t i = 0; p->glink && p->jmprel && i < p->object->sections.n; i++) {
		const struct object_section *s = &p->object->sections.v[i];
		if (may_hold_stubs(p->object, s) && p->glink >= s->addr && p->glink - s->addr < s->raw.size)
			return scan_glink(p, s);
	}
	return 0;
}

/* ---- The whole ---- */

static uint64_t section_addr(struct object_file *object, const char *name)
{
	for (size_t i = 0; i < object->sections.n; i++)
		if (!strcmp(object->sections.v[i].name, name))
			return object->sections.v[i].addr;
	return 0;
}

static void describe_machine(struct plt *p)
{
	enum { TOC_BIAS = 0x8000 };
	struct object_file *object = p->object;
	GElf_Ehdr ehdr;
	bool big = object->big_endian, little_code = false;
	if (object->machine == EM_AARCH64 || object->machine == EM_RISCV)
		little_code = true;
	if (object->machine == EM_ARM && gelf_getehdr(elf_of(object)->handle, &ehdr))
		little_code = ehdr.e_flags & EF_ARM_BE8;
	p->machine = (struct stub_machine){
		.machine = object->machine,
		.addr_size = object->addr_size,
		.big = big && !little_code,
		.big_data = big,
	};
	uint64_t got = section_addr(object, ".got"), got_plt = section_addr(object, ".got.plt");
	if (object->machine == EM_386)
		p->machine.base = got_plt ? got_plt : got;
	else if (object->machine == EM_PPC64 && got)
		p->machine.base = got + TOC_BIAS;
}

int elf_load_plt(struct object_file *object, const struct object_file *symtab)
{
	(void)symtab;
	struct plt p = {.object = object, .budget = 4 * (uint64_t)object->map_size};
	if (object->relocatable)
		return 0;
	describe_machine(&p);
	if (!stub_step(&p.machine))
		return 0;
	int err = read_tables(&p);
	if (!err)
		err = sort_slots(&p);
	if (!err)
		err = scan_sections(&p);
	if (!err)
		err = scan_glinks(&p);
	vec_free(&p.tables);
	vec_free(&p.slots);
	free(p.by_addr);
	free(p.functions);
	return err;
}
