#include "convert/identity/program_name.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "convert/companion/debug_files.h"
#include "convert/object/macho/macho.h"
#include "work/types/valid_name.h"
#include "gsym/base/cursor.h"

enum { ID_DIGITS_MIN = 16 /* a name of so many hexadecimal digits or more is an id */ };

/* Takes @name, unless it is no name of a file. */
static bool take(const char *name, char ret[static IMAGE_NAME_SIZE])
{
	size_t n = name ? strlen(name) : 0;
	if (!n || n >= IMAGE_NAME_SIZE || !image_name_valid(name))
		return false;
	memcpy(ret, name, n + 1);
	return true;
}

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

static bool take_soname(struct object_file *object, char ret[static IMAGE_NAME_SIZE])
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
	return cursor_ok(&c) && take(name, ret);
}

static bool is_id(const char *name)
{
	size_t n = strlen(name);
	return n >= ID_DIGITS_MIN && strspn(name, "0123456789abcdef") == n;
}

static bool take_debuglink(struct object_file *object, char ret[static IMAGE_NAME_SIZE])
{
	static const char suffix[] = ".debug";
	char name[IMAGE_NAME_SIZE];
	if (!debug_link_name(object, name, sizeof(name)))
		return false;
	size_t n = strlen(name);
	if (n >= sizeof(suffix) && strcmp(name + n - (sizeof(suffix) - 1), suffix) == 0)
		name[n - (sizeof(suffix) - 1)] = 0;
	return !is_id(name) && take(name, ret);
}

static bool take_install_name(const struct object_file *object, char ret[static IMAGE_NAME_SIZE])
{
	const char *name = object->macho->install_name, *slash = name ? strrchr(name, '/') : NULL;
	return take(slash ? slash + 1 : name, ret);
}

void program_name(struct object_file *object, char ret[static IMAGE_NAME_SIZE])
{
	bool found = false;
	if (object->kind == IMAGE_ELF)
		found = take_soname(object, ret) || take_debuglink(object, ret);
	else if (object->kind == IMAGE_MACHO && object->macho)
		found = take_install_name(object, ret);
	if (!found)
		*ret = 0;
}
