#include "fs/images/inode_numbers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* ---- Images ---- */

enum {
	/* A version: a part of the hash of the choice, and a count. */
	CHOICE_BITS = 5,
	COUNT_MASK = (1 << (VERSION_BITS - CHOICE_BITS)) - 1,
};

static_assert(sizeof(((struct image *)0)->versions_used) * 8 == 1 << CHOICE_BITS, "a bit for each");

static uint64_t *gone_word(const struct images *images, uint64_t hash)
{
	return (uint64_t *)&images->gone[hash / 64 % ARRAY_SIZE(images->gone)];
}

void image_choose_key(const struct images *images, struct image *image, uint64_t hash)
{
	image->odd = inode_key_is_taken(&images->by_id, hash) || *gone_word(images, hash) >> hash % 64 & 1;
}

void image_retire_key(struct images *images, const struct image *image)
{
	uint64_t hash = image->table.hash;
	if (image->kept)
		*gone_word(images, hash) |= UINT64_C(1) << hash % 64;
}

void image_next_version(struct image *image)
{
	uint32_t part = image->choice & ((1 << CHOICE_BITS) - 1), count = 0;
	if (image->versions_used >> part & 1)
		count = ++image->versions & COUNT_MASK;
	image->version = count << CHOICE_BITS | part;
}

void image_version_used(struct image *image)
{
	image->versions_used |= 1U << (image->version & ((1 << CHOICE_BITS) - 1));
}

uint32_t image_key(const struct image *image)
{
	return inode_key(image->table.hash, image->odd, image->number);
}

/* The image with these last @bits bits of a key, @after another one or NULL; odd ones left out. */
static struct image *next_by_end(const struct images *images, struct image *after, uint64_t end,
				 unsigned bits) REQUIRES(&images->lock)
{
	struct table_link *l =
		after ? table_next_end(&after->table, end, bits) : table_first_end(&images->by_id, end, bits);
	for (; l; l = table_next_end(l, end, bits))
		if (!TABLE_ENTRY(l, struct image)->odd)
			return TABLE_ENTRY(l, struct image);
	return NULL;
}

struct image *images_by_key(const struct images *images, uint32_t key)
{
	if (!(key & INODE_KEY_ODD))
		return next_by_end(images, NULL, key, INODE_KEY_BITS);
	struct image *image = slots_get(&images->all, key & ~INODE_KEY_ODD);
	return image && image->odd ? image : NULL;
}

struct image *images_by_key_end(const struct images *images, const struct answer_place *place)
{
	struct image *found = NULL, *at = NULL;
	while ((at = next_by_end(images, at, place->key, place->bits)))
		if (image_is_there(at) && (!found || (at->revision && !found->revision)))
			found = at;
	return found;
}

uint64_t image_ino(const struct image *image)
{
	return ino_make(NODE_IMAGE, image_key(image), image->version << CODE_BITS);
}

uint64_t rev_ino(const struct revision *rev, enum node_kind kind, uint32_t code)
{
	return (rev->ino & (((uint64_t)1 << 60) - 1)) | (uint64_t)kind << 60 | code;
}

uint32_t image_generation(const struct images *images, const struct image *image)
{
	const uint64_t parts[] = {image->table.hash, image->choice, images->salt};
	return inode_generation(XXH3_64bits(parts, sizeof(parts)));
}

/* ---- Names ---- */

static uint32_t basename_key(const struct basename *name)
{
	return inode_key(name->table.hash, name->odd, name->number);
}

uint64_t basename_ino(const struct basename *name)
{
	return ino_make(NODE_NAME, basename_key(name), 0);
}

static struct basename *basename_by_key(const struct images *images, uint32_t key) REQUIRES(&images->lock)
{
	struct basename *name;
	if (key & INODE_KEY_ODD) {
		name = slots_get(&images->names, key & ~INODE_KEY_ODD);
		return name && name->odd ? name : NULL;
	}
	struct table_link *l = table_first_end(&images->by_basename, key, INODE_KEY_BITS);
	for (; l; l = table_next_end(l, key, INODE_KEY_BITS))
		if (!TABLE_ENTRY(l, struct basename)->odd)
			return TABLE_ENTRY(l, struct basename);
	return NULL;
}

struct basename *basename_at(const struct images *images, uint64_t ino)
{
	return basename_by_key(images, ino_a(ino));
}

uint64_t name_link_ino(const struct name_member *member)
{
	return ino_make(NODE_NAME_LINK, basename_key(member->basename), image_key(member->image));
}

/* ---- Paths ---- */

uint64_t path_link_ino(const struct images *images, const struct path_file *file, enum node_kind kind)
{
	const struct image *image = slots_get(&images->all, file->image);
	uint32_t key = path_file_key(&images->paths, file);
	return ino_make(kind, key, kind == NODE_PATH_FAT ? 0 : image_key(image));
}

const struct path_file *path_file_at(const struct images *images, uint64_t ino)
{
	const struct path_file *file = path_file_by_key(&images->paths, ino_a(ino));
	if (ino_kind(ino) == NODE_PATH_FAT)
		return file;
	const struct image *image = images_by_key(images, ino_b(ino));
	while (file && image && file->image != image->number)
		file = path_file_next(&images->paths, file);
	return image ? file : NULL;
}

/* ---- Generations ---- */

static uint32_t of_path(const struct images *images, uint64_t ino) REQUIRES(&images->lock)
{
	const struct path_file *file = path_file_at(images, ino);
	uint64_t hash = file ? path_file_hash(&images->paths, file) : 0;
	if (file && ino_kind(ino) != NODE_PATH_FAT)
		hash ^= images_by_key(images, ino_b(ino))->table.hash << 1;
	return file ? inode_generation(hash) : 0;
}

static uint32_t of_name_link(const struct images *images, uint64_t ino) REQUIRES(&images->lock)
{
	const struct basename *name = basename_at(images, ino);
	const struct image *image = images_by_key(images, ino_b(ino));
	return name && image ? inode_generation(name->table.hash ^ image->table.hash << 1) : 0;
}

static uint32_t of_alias(const struct images *images, uint64_t ino) REQUIRES(&images->lock)
{
	const struct image *image = images_by_key(images, ino_a(ino));
	return image ? inode_generation(image->table.hash) : 0;
}

static uint32_t of_name(const struct images *images, uint64_t ino) REQUIRES(&images->lock)
{
	const struct basename *name = basename_at(images, ino);
	return name ? inode_generation(name->table.hash) : 0;
}

static uint32_t of_path_dir(const struct images *images, uint64_t ino) REQUIRES(&images->lock)
{
	if (!ino_a(ino)) /* by-path itself, as what else is in the root: fixed_generation() */
		return inode_generation(images->salt);
	const struct path_dir *dir = path_dir_by_key(&images->paths, ino_a(ino));
	return dir ? inode_generation(dir->table.hash) : 0;
}

uint32_t link_generation(const struct images *images, uint64_t ino)
{
	switch (ino_kind(ino)) {
	case NODE_NAME: return of_name(images, ino);
	case NODE_NAME_LINK: return of_name_link(images, ino);
	case NODE_ALIAS: return of_alias(images, ino);
	case NODE_PATH_DIR: return of_path_dir(images, ino);
	case NODE_PATH_LINK:
	case NODE_PATH_FAT:
	case NODE_PATH_MEMBER: return of_path(images, ino);
	default: return 0;
	}
}

/* ---- Links ---- */

/* The text of a link: how many directories up, the id of an image, and NULL or a directory in that. */
struct link_target {
	unsigned up;
	const struct image *image;
	const char *inside;
};

static int alias_target(const struct images *images, uint64_t ino, struct link_target *ret)
	REQUIRES(&images->lock)
{
	const struct alias alias = alias_of(ino_b(ino));
	if (alias.inside > NAMED_CONTEXTS)
		return -ESTALE;
	ret->up = alias.up;
	ret->image = images_by_key(images, ino_a(ino));
	ret->inside = alias.inside ? named_contexts[alias.inside - 1].name : NULL;
	return 0;
}

/* Of a link in by-path, which is as far from the root as its directory, and one further in a file with
 * several images. */
static int path_link_target(const struct images *images, uint64_t ino, struct link_target *ret)
	REQUIRES(&images->lock)
{
	const struct path_file *file = path_file_at(images, ino);
	if (!file)
		return -ESTALE;
	ret->image = slots_get(&images->all, file->image);
	ret->up =
		path_tree_dir(&images->paths, file->dir)->depth + (ino_kind(ino) == NODE_PATH_MEMBER ? 2 : 1);
	return 0;
}

static int find_link_target(const struct images *images, uint64_t ino, struct link_target *ret)
	REQUIRES(&images->lock)
{
	switch (ino_kind(ino)) {
	case NODE_ALIAS: return alias_target(images, ino, ret);
	case NODE_NAME_LINK:
		*ret = (struct link_target){.up = 2, .image = images_by_key(images, ino_b(ino))};
		return 0;
	case NODE_PATH_LINK:
	case NODE_PATH_MEMBER: return path_link_target(images, ino, ret);
	default: return -EINVAL;
	}
}

int link_text(const struct images *images, uint64_t ino, char ret[static LINK_TEXT_SIZE])
{
	struct link_target target = {.inside = NULL};
	int err = find_link_target(images, ino, &target);
	if (err)
		return err;
	if (!target.image)
		return -ESTALE;
	for (unsigned i = 0; i < target.up; i++)
		memcpy(ret + 3 * (size_t)i, "../", 3);
	return (int)(3 * target.up) + snprintf(ret + 3 * (size_t)target.up, LINK_INSIDE_SIZE + ID_TEXT_SIZE,
					       "%s%s%s", target.image->id, target.inside ? "/" : "",
					       target.inside ? target.inside : "");
}
