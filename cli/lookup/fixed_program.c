#include "cli/lookup/fixed_program.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#define KERNEL_MIN (UINT64_C(1) << 47) /* addresses of kernels, which are moved when they boot */

static int read_code(Elf *elf, struct address_list *ret)
{
	GElf_Ehdr header;
	GElf_Phdr s;
	size_t n;
	int err = 0;
	if (!gelf_getehdr(elf, &header) || header.e_type != ET_EXEC || elf_getphdrnum(elf, &n))
		return 0;
	for (size_t i = 0; !err && i < n; i++)
		if (gelf_getphdr(elf, (int)i, &s) && s.p_type == PT_LOAD && s.p_flags & PF_X &&
		    s.p_vaddr < KERNEL_MIN && s.p_memsz < KERNEL_MIN)
			err = vec_push(&ret->list, s.p_vaddr) || vec_push(&ret->list, s.p_vaddr + s.p_memsz)
				      ? -ENOMEM
				      : 0;
	return err;
}

int fixed_program_read(const char *path, struct address_list *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	if (fd < 0)
		return 0;
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf)
		err = read_code(elf, ret);
	elf_end(elf);
	close(fd);
	return err;
}
