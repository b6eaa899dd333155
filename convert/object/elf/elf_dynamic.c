/*
 * elf_dynamic.c - what the dynamic linker knows of a file, for files without section headers.
 *
 * PT_DYNAMIC has the addresses of the symbol table and its names. How many symbols there are the hash
 * tables tell: DT_HASH has the number, DT_GNU_HASH the first symbol of each bucket, and a bit at the last one
 * of each chain. Without either the symbols reach to the next table: linkers put their names behind them.
 * Sources: System V gABI, chapter 5; "GNU Hash ELF Sections" by Ali Bahrami.
 */
#include "convert/object/elf/elf.h"

#include <string.h>

struct span elf_segment(const struct object_file *object, uint32_t type, uint64_t *ret_addr)
{
	size_t n = 0;
	if (elf_getphdrnum(elf_of(object)->handle, &n))
		return (struct span){0};
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Phdr phdr;
		if (!gelf_getphdr(elf_of(object)->handle, (int)i, &phdr) || phdr.p_type != type)
			continue;
		*ret_addr = phdr.p_vaddr;
		return object_span(object, phdr.p_offset, phdr.p_filesz);
	}
	return (struct span){0};
}

/* The value of the first entry with @tag in @dynamic. */
static bool find_entry(const struct object_file *object, struct span dynamic, uint64_t tag, uint64_t *ret)
{
	struct cursor c = cursor_new(dynamic.data, dynamic.size, object->big_endian);
	for (;;) {
		uint64_t found = cursor_uint(&c, object->addr_size),
			 value = cursor_uint(&c, object->addr_size);
		if (!cursor_ok(&c) || found == DT_NULL)
			return false;
		if (found != tag)
			continue;
		*ret = value;
		return true;
	}
}

/* The bytes from the address on that the first entry with @tag has. */
static struct span bytes_of(const struct object_file *object, struct span dynamic, uint64_t tag)
{
	uint64_t addr;
	return find_entry(object, dynamic, tag, &addr) ? object_bytes_at(object, addr) : (struct span){0};
}

static uint64_t count_by_hash(const struct object_file *object, struct span table)
{
	bool wide = object->machine == EM_ALPHA || (object->machine == EM_S390 && object->addr_size == 8);
	struct cursor c = cursor_new(table.data, table.size, object->big_endian);
	cursor_uint(&c, wide ? 8 : 4);
	return cursor_uint(&c, wide ? 8 : 4);
}

static uint64_t count_by_gnu_hash(const struct object_file *object, struct span table)
{
	struct cursor c = cursor_new(table.data, table.size, object->big_endian);
	uint32_t n_buckets = cursor_u32(&c), first = cursor_u32(&c), n_words = cursor_u32(&c);
	uint64_t last = 0;
	cursor_skip(&c, 4 + (uint64_t)n_words * object->addr_size);
	if (!cursor_can_hold(&c, n_buckets, 4))
		return 0;
	for (uint32_t i = 0; i < n_buckets; i++) {
		uint32_t symbol = cursor_u32(&c);
		last = symbol > last ? symbol : last;
	}
	if (last < first)
		return first; /* the table finds none */
	cursor_skip(&c, (last - first) * 4);
	while (cursor_left(&c) >= 4 && !(cursor_u32(&c) & 1))
		last++;
	return cursor_ok(&c) ? last + 1 : 0;
}

static uint64_t count_by_order(const struct object_file *object, struct span dynamic, size_t size)
{
	static const uint64_t tables[] = {DT_STRTAB, DT_VERSYM, DT_VERNEED, DT_VERDEF,
					  DT_REL,    DT_RELA,   DT_JMPREL};
	uint64_t first = 0, end = UINT64_MAX, addr;
	if (!find_entry(object, dynamic, DT_SYMTAB, &first) || find_entry(object, dynamic, DT_HASH, &addr) ||
	    find_entry(object, dynamic, DT_GNU_HASH, &addr))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (find_entry(object, dynamic, tables[i], &addr) && addr > first && addr < end)
			end = addr;
	return end == UINT64_MAX ? 0 : (end - first) / size;
}

struct span elf_dynamic_strings(const struct object_file *object)
{
	uint64_t addr, size;
	struct span dynamic = elf_segment(object, PT_DYNAMIC, &addr);
	struct span strings = bytes_of(object, dynamic, DT_STRTAB);
	if (find_entry(object, dynamic, DT_STRSZ, &size) && size < strings.size)
		strings.size = size;
	return strings;
}

Elf_Data *elf_dynamic_symbols(const struct object_file *object)
{
	uint64_t addr;
	struct span dynamic = elf_segment(object, PT_DYNAMIC, &addr);
	struct span symbols = bytes_of(object, dynamic, DT_SYMTAB);
	size_t size = gelf_fsize(elf_of(object)->handle, ELF_T_SYM, 1, EV_CURRENT);
	uint64_t n = count_by_hash(object, bytes_of(object, dynamic, DT_HASH));
	if (!n)
		n = count_by_gnu_hash(object, bytes_of(object, dynamic, DT_GNU_HASH));
	if (!n)
		n = count_by_order(object, dynamic, size);
	if (n > symbols.size / size)
		n = symbols.size / size;
	return n ? elf_getdata_rawchunk(elf_of(object)->handle, symbols.data - object->map, n * size,
					ELF_T_SYM)
		 : NULL;
}

bool elf_soname(const struct object_file *object, struct span dynamic, uint64_t *ret)
{
	return find_entry(object, dynamic, DT_SONAME, ret);
}
