#include "convert/companion/debug_files.h"

#include "convert/object/object_open.h"

#include <stdio.h>
#include <string.h>

enum {
	PATH_SIZE = 4096,
	BUNDLE_LEVELS = 4, /* X.framework/Versions/A/X */
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static struct object_file *open_bundle(const struct object_file *object, const char *bundle)
{
	char path[PATH_SIZE];
	struct object_file *found = NULL;
	struct object_pick pick = {.id = object->id, .id_size = object->id_size};
	if (snprintf(path, sizeof(path), "%s.dSYM/Contents/Resources/DWARF/%s", bundle,
		     base_of(object->path)) >= PATH_SIZE ||
	    object_open_slice(path, object->opener, &pick, &found, NULL))
		return NULL;
	if (found->id_size == object->id_size && !memcmp(found->id, object->id, object->id_size))
		return found;
	object_close(found);
	return NULL;
}

struct object_file *dsym_find(const struct object_file *object, const char *const *dirs)
{
	char path[PATH_SIZE];
	struct object_file *found = NULL;
	if (!object->id_size || snprintf(path, sizeof(path), "%s", object->path) >= PATH_SIZE)
		return NULL;
	for (int level = 0; level < BUNDLE_LEVELS && !found && *path; level++) {
		found = open_bundle(object, path);
		char *slash = strrchr(path, '/');
		*(slash ? slash : path) = 0;
	}
	for (const char *const *d = dirs; d && *d && !found; d++)
		if (snprintf(path, sizeof(path), "%s/%s", *d, base_of(object->path)) < PATH_SIZE)
			found = open_bundle(object, path);
	return found;
}

void dsym_name(const struct object_file *object, char *ret, size_t size)
{
	snprintf(ret, size, "%s.dSYM", base_of(object->path));
}
