/*
 * coff.c - machines, sections and names of COFF.
 *
 * Names of i386 programs have the decoration of their calling convention, which is taken off as
 * llvm-symbolizer does: "_name" (cdecl), "_name@8" (stdcall), "@name@8" (fastcall), "name@@8" (vectorcall).
 */
#include "convert/object/coff.h"

#include <stdio.h>

enum {
	IMAGE_SCN_CNT_CODE = 0x20,
	IMAGE_SCN_MEM_DISCARDABLE = 0x02000000,
	IMAGE_SCN_MEM_EXECUTE = 0x20000000,
};

static const struct machine_name machines[] = {
	{IMAGE_FILE_MACHINE_I386, "i386"},
	{IMAGE_FILE_MACHINE_AMD64, "x86_64"},
	{IMAGE_FILE_MACHINE_ARM, "arm"},
	{IMAGE_FILE_MACHINE_THUMB, "arm"},
	{IMAGE_FILE_MACHINE_ARMNT, "arm"},
	{IMAGE_FILE_MACHINE_ARM64, "aarch64"},
	{IMAGE_FILE_MACHINE_ARM64EC, "arm64ec"},
	{0x5032, "riscv"},
	{0x5064, "riscv"},
	{0x6232, "loongarch"},
	{0x6264, "loongarch"},
};

void coff_set_machine(struct object_file *object, uint16_t machine)
{
	char other[sizeof(object->arch)];
	snprintf(other, sizeof(other), "pe-%x", machine);
	object_set_arch(object, machines, ARRAY_SIZE(machines), machine, other);
}

/* Code of drivers that is only needed to start is discardable, too. */
void coff_set_use(struct object_section *section, uint32_t flags)
{
	section->code = flags & (IMAGE_SCN_CNT_CODE | IMAGE_SCN_MEM_EXECUTE);
	section->allocated = section->code || !(flags & IMAGE_SCN_MEM_DISCARDABLE);
}

/* Where "@8" at the end of a name begins, or @size. */
static size_t arguments_at(const char *name, size_t size)
{
	size_t at = size;
	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	return at && at < size && name[at - 1] == '@' ? at - 1 : size;
}

const char *coff_plain_name(struct object_file *object, uint16_t machine, const char *name, size_t size,
			    bool is_text)
{
	size_t end = size, from = 0;
	if (machine == IMAGE_FILE_MACHINE_I386 && name[0] != '?') {
		from = name[0] == '_' || name[0] == '@';
		end = arguments_at(name, size);
		end -= end > from && end < size && name[end - 1] == '@';
	}
	if (end <= from)
		return "";
	return is_text && end == size ? name + from : arena_strdup(&object->names, name + from, end - from);
}
