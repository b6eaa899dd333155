/*
 * identity.c - what a file is: its kind, id and content.
 */
#include "convert/identity/identity.h"

#include "convert/companion/debug_files.h"
#include "convert/object/object_file.h"
#include "convert/object/object_open.h"
#include "convert/object/source_format.h"
#include "gsym/base/diag.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static bool has_section(struct object_file *object, const char *name)
{
	return object_section(object, name) != NULL;
}

/* ---- The hash of a file without an id ---- */

/* In steps, so that a large file is never resident as a whole. */
static void hash_bytes(XXH3_state_t *state, const struct object_file *object, struct span bytes)
{
	for (size_t at = 0, n; at < bytes.size; at += n) {
		n = bytes.size - at < RELEASE_STEP ? bytes.size - at : RELEASE_STEP;
		(void)XXH3_128bits_update(state, bytes.data + at, n);
		object_release(object, bytes, at, at + n);
	}
}

static bool is_hashed(const struct object_section *s)
{
	return s->allocated && s->raw.size;
}

static bool is_hashed_whole(const struct object_file *object)
{
	uint64_t size = object->map_size;
	return size <= IMAGE_HASH_MAX;
}

/* How many bytes the hash is of; 0: no more than IMAGE_HASH_MAX would distinguish the file from others. */
static uint64_t bytes_to_hash(const struct object_file *object)
{
	uint64_t total = 0;
	if (is_hashed_whole(object))
		return object->map_size;
	for (size_t i = 0; i < object->sections.n; i++)
		if (is_hashed(&object->sections.v[i]) &&
		    __builtin_add_overflow(total, object->sections.v[i].raw.size, &total))
			return 0;
	return total <= IMAGE_HASH_MAX ? total : 0;
}

static int hash_object(const struct object_file *object, struct image_identity *id)
{
	XXH128_canonical_t hash;
	XXH3_state_t *state = XXH3_createState();
	if (!state)
		return -ENOMEM;
	(void)XXH3_128bits_reset(state);
	if (is_hashed_whole(object))
		hash_bytes(state, object, (struct span){object->map, object->map_size});
	else
		for (size_t i = 0; i < object->sections.n; i++) {
			const struct object_section *s = &object->sections.v[i];
			uint8_t place[16];
			if (!is_hashed(s))
				continue;
			store64(place, s->addr, false);
			store64(place + 8, s->raw.size, false);
			(void)XXH3_128bits_update(state, place, sizeof(place));
			hash_bytes(state, object, s->raw);
		}
	XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(state));
	XXH3_freeState(state);
	memcpy(id->id, hash.digest, sizeof(hash.digest));
	id->id_size = sizeof(hash.digest);
	id->id_is_hash = true;
	return 0;
}

/* ---- The name that an object file gives itself ---- */

enum { ID_DIGITS_MIN = 16 /* a name of so many hexadecimal digits or more is an id */ };

static bool take_debuglink(struct object_file *object, char ret[static IMAGE_NAME_SIZE])
{
	static const char suffix[] = ".debug";
	char name[IMAGE_NAME_SIZE];
	if (!debug_link_name(object, name, sizeof(name)))
		return false;
	size_t n = strlen(name);
	if (n >= sizeof(suffix) && strcmp(name + n - (sizeof(suffix) - 1), suffix) == 0)
		name[n - (sizeof(suffix) - 1)] = 0;
	n = strlen(name);
	bool is_id = n >= ID_DIGITS_MIN && strspn(name, "0123456789abcdef") == n;
	return !is_id && object_take_name(name, ret);
}

void program_name(struct object_file *object, char ret[static IMAGE_NAME_SIZE])
{
	const struct source_format *format = object->format;
	if (!(format->own_name && format->own_name(object, ret)) &&
	    !(format->companion == COMPANION_DEBUG_FILE && take_debuglink(object, ret)))
		*ret = 0;
}

/* ---- All images of a file ---- */

static struct image_identity identity_of(struct object_file *object)
{
	struct image_identity id = {
		.kind = object->format->kind,
		.has_dwarf = has_section(object, ".debug_info"),
		.has_symtab = object_has_symbols(object),
		.has_gsym = object->gsym || has_section(object, ".gsym"),
		.has_go = object_go_table(object) != NULL,
		.has_text = object_has_code(object),
		.has_lost = object->lost.what != NULL,
		.id_size = object->id_size,
		.id_is_truncated = object->id_is_truncated,
	};
	memcpy(id.id, object->id, object->id_size);
	memcpy(id.arch, object->arch, sizeof(id.arch));
	memcpy(id.go_id, object->go_id, sizeof(id.go_id));
	if (!*id.go_id && object->format->go_id_in_code)
		go_build_id_in_code(object, id.go_id);
	/* To search for the table takes a scan too long. */
	id.has_go = id.has_go || (object->format->go_table_is_searched && *id.go_id);
	htlhash(object->file, id.htlhash);
	program_name(object, id.name);
	return id;
}

struct identify_job {
	struct identities *found;
	uint64_t hash_max;
	struct gsym_diag *diag;
};

static int add_found(void *user, struct object_file *object)
{
	const struct identify_job *job = user;
	struct identities *found = job->found;
	struct image_identity *id = &found->list[found->n++];
	*id = identity_of(object);
	/* Of several object files in the file, the first that lacks bytes is described. */
	const struct lost_bytes *lost = object->lost.what ? &object->lost : &object->lost_slice;
	if (lost->what && !*found->lost.text)
		lost_bytes_tell(lost, lost == &object->lost ? object->map_size : object->file.size, 0,
				&found->lost);
	if (!id->id_size) {
		uint64_t size = bytes_to_hash(object);
		found->to_hash += size;
		if (!size || found->to_hash > IMAGE_HASH_MAX)
			return diag_set(job->diag, -ENOTSUP,
					"%s: no build id or UUID, and too large for a hash", object->path);
		int err = found->to_hash <= job->hash_max ? hash_object(object, id) : 0;
		if (err)
			return diag_set(job->diag, err, "%s: out of memory", object->path);
	}
	return found->n < IDENTITIES_MAX ? 0 : 1;
}

int identify_descriptor(int fd, const char *name, uint64_t hash_max, struct identities *ret,
			struct gsym_diag *diag)
{
	struct identify_job job = {.found = ret, .hash_max = hash_max, .diag = diag};
	ret->n = 0;
	ret->to_hash = 0;
	*ret->lost.text = 0;
	int err = object_each(fd, name, add_found, &job, diag);
	return err == -ENOEXEC || err > 0 ? 0 : err;
}
