/* elf_name.c - the name that an ELF file gives itself, DT_SONAME. Debug files have no bytes for it. */
#include "convert/object/elf/elf.h"
#include "gsym/base/cursor.h"

#include <elf.h>

static uint64_t take_word(struct cursor *c, const struct object_file *object)
{
	return object->addr_size == 8 ? cursor_u64(c) : cursor_u32(c);
}

/* The offset of DT_SONAME in .dynstr; false when there is none. */
static bool find_soname(const struct object_file *object, struct object_section *dynamic, uint64_t *ret)
{
	struct cursor c = cursor_new(dynamic->data.data, dynamic->data.size, object->big_endian);
	for (;;) {
		uint64_t tag = take_word(&c, object), value = take_word(&c, object);
		if (!cursor_ok(&c) || tag == DT_NULL)
			return false;
		if (tag != DT_SONAME)
			continue;
		*ret = value;
		return true;
	}
}

bool elf_own_name(struct object_file *object, char ret[static IMAGE_NAME_SIZE])
{
	struct object_section *dynamic = object_section(object, ".dynamic"),
			      *strings = object_section(object, ".dynstr");
	uint64_t offset;
	if (!dynamic || !strings || section_load(dynamic) || section_load(strings) ||
	    !find_soname(object, dynamic, &offset))
		return false;
	struct cursor c = cursor_new(strings->data.data, strings->data.size, object->big_endian);
	cursor_seek(&c, offset);
	const char *name = cursor_str(&c);
	return cursor_ok(&c) && object_take_name(name, ret);
}
