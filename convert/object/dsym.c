#include "convert/object/dsym.h"

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

static struct image *open_bundle(const struct image *image, const char *bundle)
{
	char path[PATH_SIZE];
	struct image *found = NULL;
	struct image_pick pick = {.id = image->id, .id_size = image->id_size};
	if (snprintf(path, sizeof(path), "%s.dSYM/Contents/Resources/DWARF/%s", bundle,
		     base_of(image->path)) >= PATH_SIZE ||
	    image_open_slice(path, image->opener, &pick, &found, NULL))
		return NULL;
	if (found->id_size == image->id_size && !memcmp(found->id, image->id, image->id_size))
		return found;
	image_close(found);
	return NULL;
}

struct image *dsym_find(const struct image *image, const char *const *dirs)
{
	char path[PATH_SIZE];
	struct image *found = NULL;
	if (!image->id_size || snprintf(path, sizeof(path), "%s", image->path) >= PATH_SIZE)
		return NULL;
	for (int level = 0; level < BUNDLE_LEVELS && !found && *path; level++) {
		found = open_bundle(image, path);
		char *slash = strrchr(path, '/');
		*(slash ? slash : path) = 0;
	}
	for (const char *const *d = dirs; d && *d && !found; d++)
		if (snprintf(path, sizeof(path), "%s/%s", *d, base_of(image->path)) < PATH_SIZE)
			found = open_bundle(image, path);
	return found;
}

void dsym_name(const struct image *image, char *ret, size_t size)
{
	snprintf(ret, size, "%s.dSYM", base_of(image->path));
}
