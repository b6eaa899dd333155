/*
 * elf_expect.c - whether an ELF file has the bytes that its headers place.
 *
 * Linkers write the section headers last, so that nearly every copy that broke off lacks them. Files without
 * any, as some packers leave them, have only segments to compare with. The segments of a separate debug file
 * are those of its program and say nothing of it, but it has section headers.
 */
#include "convert/object/elf/elf.h"

#include <gelf.h>

/* Whether the table can be read, so that there are sections to look at. */
static bool expect_sections(struct object_file *object, const GElf_Ehdr *ehdr)
{
	size_t n = 0;
	if (!ehdr->e_shoff)
		return false;
	/* The number of very many sections is in the first header. */
	if (elf_getshdrnum(elf_of(object)->handle, &n) || n < 1)
		n = ehdr->e_shnum ? ehdr->e_shnum : 1;
	object_expect(object, "section headers", 0, ehdr->e_shoff, n * ehdr->e_shentsize);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf_of(object)->handle, scn));) {
		GElf_Shdr shdr;
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type != SHT_NOBITS && shdr.sh_type != SHT_NULL)
			object_expect(object, "section", (unsigned)elf_ndxscn(scn), shdr.sh_offset,
				      shdr.sh_size);
	}
	return true;
}

static void expect_segments(struct object_file *object)
{
	size_t n = 0;
	if (elf_getphdrnum(elf_of(object)->handle, &n))
		return;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Phdr phdr;
		if (gelf_getphdr(elf_of(object)->handle, (int)i, &phdr) && phdr.p_type != PT_NULL)
			object_expect(object, "segment", (unsigned)i + 1, phdr.p_offset, phdr.p_filesz);
	}
}

void elf_expect(struct object_file *object)
{
	GElf_Ehdr ehdr;
	if (!gelf_getehdr(elf_of(object)->handle, &ehdr))
		return;
	if (ehdr.e_phoff && ehdr.e_phnum != PN_XNUM)
		object_expect(object, "program headers", 0, ehdr.e_phoff,
			      (uint64_t)ehdr.e_phnum * ehdr.e_phentsize);
	if (!expect_sections(object, &ehdr))
		expect_segments(object);
}
