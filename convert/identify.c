/*
 * identify.c - what a scanner wants to know of a file: is it an image, which id, what does it hold.
 */
#include "image.h"

#include <string.h>
#include <xxhash.h>

static bool has_section(struct image *image, const char *name)
{
	return image_section(image, name) != NULL;
}

static bool has_code_bytes(const struct image *image)
{
	for (size_t i = 0; i < image->sections.n; i++)
		if (image->sections.v[i].code && image->sections.v[i].raw.size)
			return true;
	return false;
}

int identify_descriptor(int fd, const char *name, struct image_identity *ret, struct gsym_diag *diag)
{
	CLEANUP(image_closep) struct image *image = NULL;
	int err = image_open_descriptor(fd, name, &image, diag);
	if (err == -ENOEXEC) {
		*ret = (struct image_identity){.kind = IMAGE_OTHER};
		return 0;
	}
	if (err)
		return err;
	struct image_identity id = {
		.kind = IMAGE_ELF,
		.has_dwarf = has_section(image, ".debug_info"),
		.has_symtab = has_section(image, ".symtab"),
		.has_text = has_code_bytes(image),
		.id_size = image->id_size,
	};
	memcpy(id.id, image->id, image->id_size);
	memcpy(id.arch, image->arch, sizeof(id.arch));
	if (!id.id_size) {
		XXH128_canonical_t hash;
		XXH128_canonicalFromHash(&hash, XXH3_128bits(image->map, image->map_size));
		memcpy(id.id, hash.digest, sizeof(hash.digest));
		id.id_size = sizeof(hash.digest);
		id.id_is_hash = true;
	}
	*ret = id;
	return 0;
}
