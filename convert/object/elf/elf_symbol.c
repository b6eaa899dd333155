
#include "convert/object/elf/elf.h"

#include <errno.h>

#include "work/types/machine_fault.h"
#include "work/types/memory_limit.h"

Elf_Data *elf_table(const struct object_file *object, Elf_Scn *scn)
{
	GElf_Shdr shdr;
	errno = 0;
	Elf_Data *data = elf_getdata(scn, NULL);
	if (errno != ENOMEM || (data && data->d_buf))
		return data;
	memory_limit_note(gelf_getshdr(scn, &shdr) ? shdr.sh_size : 0);
	memory_fault_note(object->opener, -ENOMEM);
	return NULL;
}

Elf_Data *extended_indexes(struct object_file *object, Elf_Scn *symtab)
{
	for (unsigned i = 0; i < elf_of(object)->n_index_tables; i++)
		if (elf_of(object)->index_tables[i].symtab == elf_ndxscn(symtab))
			return elf_table(object, elf_getscn(elf_of(object)->handle,
							    elf_of(object)->index_tables[i].section));
	return NULL;
}

bool symbol_read(struct object_file *object, Elf_Data *symbols, Elf_Data *indexes, size_t i, GElf_Sym *ret,
		 uint64_t *ret_section)
{
	Elf32_Word index = 0;
	*ret_section = 0;
	if (i > INT32_MAX || !gelf_getsymshndx(symbols, indexes, (int)i, ret, &index))
		return false;
	if (ret->st_shndx != SHN_XINDEX)
		index = ret->st_shndx;
	/* In linked files values are addresses already. Section n is sections.v[n - 1]. */
	if (object->relocatable && index && index <= object->sections.n &&
	    (ret->st_shndx < SHN_LORESERVE || ret->st_shndx == SHN_XINDEX))
		*ret_section = object->sections.v[index - 1].addr;
	return true;
}
