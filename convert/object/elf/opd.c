/*
 * opd.c - resolving function descriptors.
 *
 * .opd is loaded once, relocated if the file is relocatable, and indexed by address, so that a lookup takes
 * O(1). Pairs of symbols of code and descriptor are joined by sorting the former by address.
 */

#include "convert/object/elf/elf.h"
#include "gsym/base/sort.h"
#include "gsym/base/cursor.h"
#include "gsym/base/search.h"

#include <gelf.h>
#include <string.h>

int descriptors_open(struct object_file *object)
{
	GElf_Ehdr ehdr;
	uint64_t skipped = 0; /* TOC pointers, which are not used */
	if (elf_of(object)->opd || object->machine != EM_PPC64 ||
	    !gelf_getehdr(elf_of(object)->handle, &ehdr) || (ehdr.e_flags & EF_PPC64_ABI) == 2)
		return 0;
	struct object_section *s = object_section(object, ".opd");
	if (!s || s->code || section_load(s))
		return 0;
	if (object->relocatable && elf_relocate(object, s, &skipped))
		return -ENOMEM;
	elf_of(object)->opd = s;
	return 0;
}

uint64_t descriptor_code(const struct object_file *object, uint64_t addr)
{
	const struct object_section *s = elf_of(object)->opd;
	if (!s || addr < s->addr || addr - s->addr >= s->data.size)
		return addr;
	struct cursor c = cursor_new(s->data.data, s->data.size, object->big_endian);
	cursor_seek(&c, addr - s->addr);
	uint64_t code = cursor_u64(&c);
	return cursor_ok(&c) ? code : addr;
}

/* The symbols that had a dot, by address. */
static int sort_dotted(const struct object_file *object, struct keyed *ret, size_t *n)
{
	*n = 0;
	for (size_t i = 0; i < object->symbols.n; i++)
		if (object->symbols.v[i].dotted)
			ret[(*n)++] = (struct keyed){object->symbols.v[i].addr, (uint32_t)i};
	return radix_sort(ret, *n);
}

/* Whether a symbol with a dot names the code of this descriptor. */
static bool has_dotted(const struct object_file *object, const struct keyed *dotted, size_t n,
		       const struct symbol *s)
{
	size_t lo = PARTITION_POINT(0, n, mid, dotted[mid].key < s->addr);
	/* Only the first is compared: a hostile file could have many at one address. */
	return lo < n && dotted[lo].key == s->addr &&
	       !strcmp(object->symbols.v[dotted[lo].index].name, s->name);
}

int descriptors_join(struct object_file *object)
{
	if (!elf_of(object)->opd || object->symbols.n > UINT32_MAX)
		return 0;
	CLEANUP(freep) struct keyed *dotted = malloc((object->symbols.n + 1) * sizeof(*dotted));
	size_t n = 0, kept = 0, end = object->symbols.n;
	int err = dotted ? sort_dotted(object, dotted, &n) : -ENOMEM;
	if (err || !n)
		return err;
	CLEANUP(freep) bool *drop = calloc(end, sizeof(*drop));
	if (!drop)
		return -ENOMEM;
	for (size_t i = 0; i < end; i++) {
		const struct symbol *s = &object->symbols.v[i];
		drop[i] = s->type == SYMBOL_FUNC && !s->dotted && has_dotted(object, dotted, n, s);
	}
	for (size_t i = 0; i < end; i++)
		if (!drop[i])
			object->symbols.v[kept++] = object->symbols.v[i];
	object->symbols.n = kept;
	return 0;
}
