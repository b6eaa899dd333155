#include "convert/companion/mapped_object.h"

#include "convert/object/macho/macho.h"
#include "convert/object/object_open.h"
#include "work/types/machine_fault.h"
#include "gsym/base/diag.h"

#include <string.h>

/* "dir/lib.a(x.o)": truncates it after the library and returns the member's name; NULL for other paths. */
static char *cut_member(char *path)
{
	size_t n = strlen(path);
	char *open = n && path[n - 1] == ')' ? strrchr(path, '(') : NULL;
	if (!open)
		return NULL;
	path[n - 1] = *open = 0;
	return open + 1;
}

static int read_member(struct object_file *object, const char *member, const char *arch, uint64_t mtime,
		       struct gsym_diag *diag)
{
	struct span bytes;
	if (!archive_find(fat_part_for(object->file, arch), member, mtime, &bytes))
		return diag_set(diag, -ENOENT, "%s: no member '%s' in this static library", object->path,
				member);
	object->map = bytes.data;
	object->map_size = bytes.size;
	return object_read(object, NULL, diag);
}

int mapped_object_open(const char *path, const struct convert_opener *opener, const char *arch,
		       uint64_t mtime, struct object_file **ret, struct gsym_diag *diag)
{
	CLEANUP(freep) char *file = strdup(path);
	CLEANUP(object_closep) struct object_file *object = NULL;
	if (!file)
		return diag_set(diag, -ENOMEM, "%s: out of memory", path);
	const char *member = cut_member(file);
	int err = object_map(file, opener, &object, diag);
	if (err)
		return err;
	if (member)
		err = read_member(object, member, arch, mtime, diag);
	else if (mtime && object->mtime != mtime)
		err = diag_set(diag, -ESTALE, "%s: modified after the binary was linked: rebuild the binary",
			       path);
	else
		err = object_read(object, &(struct object_pick){.arch = arch}, diag);
	if (!err && (object->format != &macho_format || strcmp(object->arch, arch)))
		err = diag_set(diag, -ENOEXEC, "%s: not a Mach-O file for %s", path, arch);
	if (!err)
		*ret = TAKE(object);
	return memory_fault_note(opener, err);
}
