#include "convert/identity/identity.h"

#include <stdio.h>
#include <string.h>

#include "convert/companion/debug_files.h"
#include "convert/object/source_format.h"

enum { ID_DIGITS_MIN = 16 /* a name of so many hexadecimal digits or more is an id */ };

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
	return !is_id(name) && object_take_name(name, ret);
}

void program_name(struct object_file *object, char ret[static IMAGE_NAME_SIZE])
{
	const struct source_format *format = object->format;
	if (!(format->own_name && format->own_name(object, ret)) &&
	    !(format->companion == COMPANION_DEBUG_FILE && take_debuglink(object, ret)))
		*ret = 0;
}
