/* verify_elf.h - what the ELF side of an object file says: which addresses are code, and what they are
 * called. */
#ifndef CONVERT_VERIFY_ELF_H
#define CONVERT_VERIFY_ELF_H

#include "verify_attr.h"

struct verify_symbol {
	uint64_t addr;
	const char *name; /* borrowed from the open file */
};

struct verify_elf {
	int fd;
	void *elf;                         /* libelf's handle; NULL = not an ELF file */
	struct verify_range_list text;     /* executable sections */
	VEC(struct verify_symbol) symbols; /* by address */
};

/* A file that is no ELF file gives no sections and no symbols. 0 or -ENOMEM. */
int verify_elf_open(const char *path, struct verify_elf *ret);
void verify_elf_close(struct verify_elf *elf);

/* Whether @addr is code; anything is when no section is known. */
bool verify_elf_is_code(const struct verify_elf *elf, uint64_t addr);

/* Whether a symbol called @name has the value @addr. */
bool verify_elf_has_symbol(const struct verify_elf *elf, uint64_t addr, const char *name);

#endif
