/*
 * debugdata.c - .gnu_debugdata (MiniDebugInfo): an xz-compressed ELF file with only a symbol table, which
 * distributions leave in stripped programs.
 */
#include "convert/companion/debug_files.h"

#include "convert/object/compressed_file.h"
#include "convert/object/object_open.h"

#include <sys/mman.h>

enum { DEBUGDATA_MAX = 256 << 20 /* bytes; real ones have a few megabytes */ };

int open_debugdata(struct object_file *object, struct object_file **ret)
{
	struct object_section *s = object_section(object, ".gnu_debugdata");
	struct span inflated;
	*ret = NULL;
	int err = s ? section_load(s) : 0;
	if (!s || err)
		return err;
	err = compressed_file_inflate(s->data, NULL, DEBUGDATA_MAX, &inflated);
	if (err)
		return err;
	err = object_open_memory(inflated.data, inflated.size, ".gnu_debugdata", ret, NULL);
	if (err)
		munmap((void *)(uintptr_t)inflated.data, inflated.size);
	else
		(*ret)->inflated = inflated;
	return err;
}
