#include "convert/object/elf/elf_symbol.h"

Elf_Data *extended_indexes(struct object_file *object, Elf_Scn *symtab)
{
	for (unsigned i = 0; i < object->n_index_tables; i++)
		if (object->index_tables[i].symtab == elf_ndxscn(symtab))
			return elf_getdata(elf_getscn(object->elf, object->index_tables[i].section), NULL);
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
