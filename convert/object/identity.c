/*
 * identity.c - what a file is: its kind, id and content.
 */
#include "convert/object/identity.h"

#include "convert/object/object_open.h"

#include <string.h>
#include <xxhash.h>

static bool has_section(struct object_file *object, const char *name)
{
	return object_section(object, name) != NULL;
}

/* In steps, so that a large file is never resident as a whole. */
static XXH128_hash_t hash_object(const struct object_file *object)
{
	const struct span all = {object->map, object->map_size};
	XXH3_state_t *state = XXH3_createState();
	if (!state || XXH3_128bits_reset(state))
		return XXH3_128bits(all.data, all.size); /* out of memory: in one pass */
	for (size_t at = 0, n; at < all.size; at += n) {
		n = all.size - at < RELEASE_STEP ? all.size - at : RELEASE_STEP;
		(void)XXH3_128bits_update(state, all.data + at, n);
		object_release(object, all, at, at + n);
	}
	XXH128_hash_t hash = XXH3_128bits_digest(state);
	XXH3_freeState(state);
	return hash;
}

static struct image_identity identity_of(struct object_file *object)
{
	struct image_identity id = {
		.kind = object->kind,
		.has_dwarf = has_section(object, ".debug_info"),
		.has_symtab = object_has_symbols(object),
		.has_gsym = object->gsym || has_section(object, ".gsym"),
		.has_text = object_has_code(object),
		.id_size = object->id_size,
		.id_is_cut = object->id_is_cut,
	};
	memcpy(id.id, object->id, object->id_size);
	memcpy(id.arch, object->arch, sizeof(id.arch));
	if (!id.id_size) {
		XXH128_canonical_t hash;
		XXH128_canonicalFromHash(&hash, hash_object(object));
		memcpy(id.id, hash.digest, sizeof(hash.digest));
		id.id_size = sizeof(hash.digest);
		id.id_is_hash = true;
	}
	return id;
}

struct identity_list {
	struct image_identity *list;
	size_t n;
};

static int add_found(void *user, struct object_file *object)
{
	struct identity_list *found = user;
	found->list[found->n++] = identity_of(object);
	return found->n < IDENTITIES_MAX ? 0 : 1;
}

int identify_descriptor(int fd, const char *name, struct image_identity ret[static IDENTITIES_MAX],
			size_t *ret_n, struct gsym_diag *diag)
{
	struct identity_list found = {.list = ret};
	int err = object_each(fd, name, add_found, &found, diag);
	*ret_n = found.n;
	return err == -ENOEXEC || err > 0 ? 0 : err;
}
