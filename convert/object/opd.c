#include "convert/object/opd.h"

#include "convert/record/radix.h"
#include "gsym/base/cursor.h"

#include <gelf.h>
#include <string.h>

int descriptors_open(struct image *image)
{
	GElf_Ehdr ehdr;
	uint64_t skipped = 0; /* the pointers to the table of contents, which nobody needs */
	if (image->opd || image->machine != EM_PPC64 || !gelf_getehdr(image->elf, &ehdr) ||
	    (ehdr.e_flags & EF_PPC64_ABI) == 2)
		return 0;
	struct section *s = image_section(image, ".opd");
	if (!s || s->code || section_load(s))
		return 0;
	if (image->relocatable && section_relocate(image, s, &skipped))
		return -ENOMEM;
	image->opd = s;
	return 0;
}

uint64_t descriptor_code(const struct image *image, uint64_t addr)
{
	const struct section *s = image->opd;
	if (!s || addr < s->addr || addr - s->addr >= s->data.size)
		return addr;
	struct cursor c = cursor_new(s->data.data, s->data.size, image->big_endian);
	cursor_seek(&c, addr - s->addr);
	uint64_t code = cursor_u64(&c);
	return cursor_ok(&c) ? code : addr;
}

/* The symbols that had a dot, by address. */
static int sort_dotted(const struct image *image, struct keyed *ret, size_t *n)
{
	*n = 0;
	for (size_t i = 0; i < image->symbols.n; i++)
		if (image->symbols.v[i].dotted)
			ret[(*n)++] = (struct keyed){image->symbols.v[i].addr, (uint32_t)i};
	return radix_sort(ret, *n);
}

/* Whether a symbol with a dot names the code of this descriptor. */
static bool has_dotted(const struct image *image, const struct keyed *dotted, size_t n,
		       const struct symbol *s)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (dotted[mid].key < s->addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* One look: several such symbols of one address would be a file made to cost time. */
	return lo < n && dotted[lo].key == s->addr &&
	       !strcmp(image->symbols.v[dotted[lo].index].name, s->name);
}

int descriptors_join(struct image *image)
{
	if (!image->opd || image->symbols.n > UINT32_MAX)
		return 0;
	CLEANUP(freep) struct keyed *dotted = malloc((image->symbols.n + 1) * sizeof(*dotted));
	size_t n = 0, kept = 0, end = image->symbols.n;
	int err = dotted ? sort_dotted(image, dotted, &n) : -ENOMEM;
	if (err || !n)
		return err;
	CLEANUP(freep) bool *drop = calloc(end, sizeof(*drop));
	if (!drop)
		return -ENOMEM;
	for (size_t i = 0; i < end; i++) {
		const struct symbol *s = &image->symbols.v[i];
		drop[i] = s->type == SYMBOL_FUNC && !s->dotted && has_dotted(image, dotted, n, s);
	}
	for (size_t i = 0; i < end; i++)
		if (!drop[i])
			image->symbols.v[kept++] = image->symbols.v[i];
	image->symbols.n = kept;
	return 0;
}
