/*
 * pe_imports.c - import thunks: jumps through a slot of the import address table, to which calls of imported
 * functions lead that were not compiled as such ("symbols" of import libraries).
 *
 * They have the name of what they call, as in symbol tables. The same jump ends functions that tail-call an
 * imported one, and leaf functions have no unwind data. So a thunk is one that stands alone: outside of
 * functions with unwind data, and after another thunk, or where a symbol is. Without symbols it may also be
 * at the start of a section, or after padding or the end of a function.
 */
#include "convert/object/pe/pe.h"

#include "gsym/base/search.h"

enum {
	IMPORT_SIZE = 20,       /* IMAGE_IMPORT_DESCRIPTOR */
	DELAY_IMPORT_SIZE = 32, /* ImgDelayDescr */
	X86_THUNK_SIZE = 6,
	ARM64_THUNK_SIZE = 12,
};

/* ---- The table of imports ---- */

/* One list: names from @names on, slots from @slots on; as long as the list of names. */
static int add_list(const struct object_file *object, uint32_t names, uint32_t slots,
		    struct name_budget *budget, pe_imports *ret)
{
	struct span bytes = pe_bytes(object, names);
	size_t size = object->addr_size;
	for (size_t off = 0; bytes.size - off >= size; off += size) {
		uint64_t word = size == 8 ? load64(bytes.data + off, false) : load32(bytes.data + off, false);
		if (!word || !budget->left)
			break;
		budget->left--; /* lists may overlap */
		if (word >> (size * 8 - 1))
			continue; /* by number */
		const char *name = pe_text(object, (word & 0x7fffffff) + 2, budget);
		if (name && *name &&
		    vec_push(ret, (struct pe_import){object->base_address + slots + off, name}))
			return -ENOMEM;
	}
	return 0;
}

static int compare_import(const void *a, const void *b)
{
	const struct pe_import *x = a, *y = b;
	return COMPARE(x->slot, y->slot) ?: COMPARE(x->name, y->name);
}

int pe_list_imports(const struct object_file *object, pe_imports *ret)
{
	struct span plain = pe_directory_bytes(object, DIRECTORY_IMPORT),
		    delayed = pe_directory_bytes(object, DIRECTORY_DELAY_IMPORT);
	struct name_budget budget = name_budget_of(object->map_size / 8);
	int err = 0;
	for (size_t off = 0; plain.size - off >= IMPORT_SIZE && !err; off += IMPORT_SIZE) {
		uint32_t names = load32(plain.data + off, false),
			 slots = load32(plain.data + off + 16, false);
		if (slots)
			err = add_list(object, names ? names : slots, slots, &budget, ret);
	}
	for (size_t off = 0; delayed.size - off >= DELAY_IMPORT_SIZE && !err; off += DELAY_IMPORT_SIZE) {
		uint32_t slots = load32(delayed.data + off + 12, false),
			 names = load32(delayed.data + off + 16, false);
		if (slots && names)
			err = add_list(object, names, slots, &budget, ret);
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_import);
	return err;
}

static const char *import_at(const pe_imports *imports, uint64_t slot)
{
	size_t i = PARTITION_POINT(0, imports->n, mid, imports->v[mid].slot < slot);
	return i < imports->n && imports->v[i].slot == slot ? imports->v[i].name : NULL;
}

/* ---- Thunks ---- */

/* jmp *slot: relative to the next instruction, or an address on i386. */
static bool x86_slot(bool wide, const uint8_t *at, uint64_t addr, uint64_t *ret)
{
	uint32_t word = load32(at + 2, false);
	*ret = wide ? addr + X86_THUNK_SIZE + (uint64_t)(int32_t)word : word;
	return at[0] == 0xff && at[1] == 0x25;
}

/* adrp x16, page; ldr x16, [x16, #off]; br x16 */
static bool arm64_slot(const uint8_t *at, uint64_t addr, uint64_t *ret)
{
	uint32_t adrp = load32(at, false), ldr = load32(at + 4, false);
	uint64_t page = (adrp >> 29 & 3) | (uint64_t)(adrp >> 5 & 0x7ffff) << 2;
	page = (page ^ 1 << 20) - (1 << 20); /* 21 bits with sign */
	*ret = (addr & ~(uint64_t)0xfff) + (page << 12) + (ldr >> 10 & 0xfff) * 8;
	return (adrp & 0x9f00001f) == 0x90000010 && (ldr & 0xffc003ff) == 0xf9400210 &&
	       load32(at + 8, false) == 0xd61f0200;
}

struct thunk_search {
	struct object_file *object;
	const pe_imports *imports;
	range_vec inside;             /* functions with unwind data */
	struct known_addresses known; /* of symbols and exports */
	size_t size;                  /* of a thunk */
	size_t left;                  /* bytes to look at: sections may share theirs */
};

static const char *thunk_name(const struct thunk_search *t, const uint8_t *at, uint64_t addr)
{
	uint64_t slot;
	bool found = t->size == ARM64_THUNK_SIZE ? arm64_slot(at, addr, &slot)
						 : x86_slot(t->object->addr_size == 8, at, addr, &slot);
	return found && !ranges_find(&t->inside, addr) ? import_at(t->imports, slot) : NULL;
}

/* Whether code could end before @at, the byte @off of a section: padding, or ret where functions begin. */
static bool x86_ends_before(const uint8_t *at, size_t off)
{
	return at[-1] == 0x90 || at[-1] == 0xcc || (off % 16 == 0 && (at[-1] == 0 || at[-1] == 0xc3));
}

/* The same for nop, brk and zeros, and for b, br and ret. */
static bool arm64_ends_before(const uint8_t *at)
{
	uint32_t word = load32(at - 4, false);
	return word == 0xd503201f || (word & 0xffe0001f) == 0xd4200000 || !word ||
	       (word & 0xfc000000) == 0x14000000 || (word & 0xff9ffc1f) == 0xd61f0000;
}

/* Whether a function could begin at @at, the byte @off of section @s; a thunk ends at @after. */
static bool stands_alone(const struct thunk_search *t, const struct object_section *s, const uint8_t *at,
			 size_t off, size_t after)
{
	if ((off && off == after) || known_address(&t->known, s->addr + off))
		return true;
	if (pe_of(t->object)->has_symbols)
		return false;
	return !off || (t->size == ARM64_THUNK_SIZE ? arm64_ends_before(at) : x86_ends_before(at, off));
}

static int search_section(struct thunk_search *t, const struct object_section *s)
{
	size_t step = t->size == ARM64_THUNK_SIZE ? 4 : 1, after = 0;
	size_t size = s->raw.size < t->left ? s->raw.size : t->left;
	t->left -= size;
	for (size_t off = 0; off < size && size - off >= t->size;) {
		const uint8_t *at = s->raw.data + off;
		const char *name = thunk_name(t, at, s->addr + off);
		if (!name || !stands_alone(t, s, at, off, after)) {
			off += step;
			continue;
		}
		struct symbol stub = {
			.addr = s->addr + off, .size = t->size, .name = name, .type = SYMBOL_STUB};
		if (vec_push(&t->object->symbols, stub))
			return -ENOMEM;
		after = off += t->size;
	}
	return 0;
}

int pe_load_thunks(struct object_file *object, const struct object_file *symtab)
{
	pe_imports imports = {0};
	struct thunk_search t = {.object = object, .imports = &imports, .left = object->map_size};
	int err = pe_list_imports(object, &imports);
	(void)symtab;
	switch (pe_of(object)->machine) {
	case IMAGE_FILE_MACHINE_I386:
	case IMAGE_FILE_MACHINE_AMD64: t.size = X86_THUNK_SIZE; break;
	case IMAGE_FILE_MACHINE_ARM64: t.size = ARM64_THUNK_SIZE; break;
	}
	if (!err)
		err = known_addresses_make(object, &t.known);
	if (!err)
		err = pe_list_functions(object, &t.inside, &(struct damaged_entries){0});
	ranges_normalize(&t.inside);
	for (size_t i = 0; i < object->sections.n && !err && imports.n && t.size; i++)
		if (object->sections.v[i].code)
			err = search_section(&t, &object->sections.v[i]);
	vec_free(&t.inside);
	free(t.known.v);
	vec_free(&imports);
	return err;
}
