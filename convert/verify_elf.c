#include "verify_elf.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

static int add_symbols(struct verify_elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	GElf_Sym symbol;
	for (size_t i = 0; i < count && gelf_getsym(data, (int)i, &symbol); i++) {
		const char *name = elf_strptr(elf->elf, header->sh_link, symbol.st_name);
		if (symbol.st_shndx == SHN_UNDEF || !name || !name[0])
			continue;
		if (vec_push(&elf->symbols, (struct verify_symbol){symbol.st_value, name}))
			return -ENOMEM;
	}
	return 0;
}

static int add_section(struct verify_elf *elf, Elf_Scn *section)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	GElf_Shdr header;
	if (!gelf_getshdr(section, &header))
		return 0;
	if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
		return add_symbols(elf, section, &header);
	if ((header.sh_flags & code) != code || header.sh_size == 0)
		return 0;
	return vec_push(&elf->text, (struct verify_range){header.sh_addr, header.sh_addr + header.sh_size});
}

static int by_address(const void *a, const void *b)
{
	const struct verify_symbol *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

int verify_elf_open(const char *path, struct verify_elf *ret)
{
	int err = 0;
	*ret = (struct verify_elf){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	elf_version(EV_CURRENT);
	ret->elf = ret->fd < 0 ? NULL : elf_begin(ret->fd, ELF_C_READ_MMAP, NULL);
	if (!ret->elf || elf_kind(ret->elf) != ELF_K_ELF)
		return 0;
	for (Elf_Scn *section = NULL; !err && (section = elf_nextscn(ret->elf, section));)
		err = add_section(ret, section);
	if (ret->symbols.n)
		qsort(ret->symbols.v, ret->symbols.n, sizeof(*ret->symbols.v), by_address);
	return err;
}

void verify_elf_close(struct verify_elf *elf)
{
	vec_free(&elf->symbols);
	vec_free(&elf->text);
	elf_end(elf->elf);
	if (elf->fd >= 0)
		close(elf->fd);
}

bool verify_elf_is_code(const struct verify_elf *elf, uint64_t addr)
{
	for (size_t i = 0; i < elf->text.n; i++)
		if (addr >= elf->text.v[i].low && addr < elf->text.v[i].high)
			return true;
	return elf->text.n == 0;
}

bool verify_elf_has_symbol(const struct verify_elf *elf, uint64_t addr, const char *name)
{
	size_t low = 0, high = elf->symbols.n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (elf->symbols.v[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < elf->symbols.n && elf->symbols.v[low].addr == addr; low++)
		if (strcmp(elf->symbols.v[low].name, name) == 0)
			return true;
	return false;
}
