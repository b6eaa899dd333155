#include "fs/tree/entry.h"

#include <stdlib.h>

#include "fs/images/basename.h"
#include "fs/images/revision.h"
#include "fs/images/inode_numbers.h"
#include "fs/tree/attr.h"

struct fuse_entry_param entry_none(double timeout)
{
	return (struct fuse_entry_param){.entry_timeout = timeout};
}

/* Two mounts may begin in the same second. */
static uint32_t mount_generation(const struct tree *tree)
{
	uint64_t when = (uint64_t)tree->mounted_at.tv_sec * 1000000000 + (uint64_t)tree->mounted_at.tv_nsec;
	return inode_generation(when * UINT64_C(0x9e3779b97f4a7c15));
}

uint32_t fixed_generation(const struct tree *tree)
{
	return inode_generation(tree->images->salt);
}

struct fuse_entry_param entry_make(const struct tree *tree, const struct stat *attr, uint32_t generation,
				   double entry_timeout, double attr_timeout)
{
	return (struct fuse_entry_param){
		.ino = attr->st_ino,
		.generation = generation ? generation : mount_generation(tree),
		.attr = *attr,
		.entry_timeout = entry_timeout,
		.attr_timeout = attr_timeout,
	};
}

struct fuse_entry_param entry_image(const struct tree *tree, struct image *image)
{
	struct stat st;
	mutex_assert_held(&tree->images->lock);
	image_version_used(image);
	attr_image(image_source(image), image_ino(image), &st);
	/*
	 * Another version has another inode number. The kernel is not notified of it: that would take the
	 * lock of the root directory, which each lookup that is parked there holds, and hold up all others.
	 */
	return entry_make(tree, &st, image_generation(tree->images, image), TIMEOUT_IMAGE, TIMEOUT_FIXED);
}

/* A link that was given out, as long as it leads to something: what it says never changes. */
static struct fuse_entry_param entry_link(const struct tree *tree, uint64_t ino, double timeout)
{
	struct stat st;
	char text[LINK_TEXT_SIZE];
	mutex_assert_held(&tree->images->lock);
	attr_link(tree, ino, (size_t)link_text(tree->images, ino, text), &st);
	return entry_make(tree, &st, link_generation(tree->images, ino), timeout, TIMEOUT_FIXED);
}

struct fuse_entry_param entry_alias(const struct tree *tree, const struct image *image, struct alias alias)
{
	return entry_link(tree, ino_make(NODE_ALIAS, image_key(image), alias_code(alias)), TIMEOUT_ALIAS);
}

/* The kernel shows what it keeps to every user. */
static double name_timeout(bool visible_to_all)
{
	return visible_to_all ? TIMEOUT_LISTING : 0;
}

struct fuse_entry_param entry_basename(const struct tree *tree, const struct basename *name)
{
	struct stat st;
	mutex_assert_held(&tree->images->lock);
	attr_own_dir(tree, basename_ino(name), &st);
	double timeout = name_timeout(basename_is_visible(tree->images, name, NULL, false));
	return entry_make(tree, &st, link_generation(tree->images, st.st_ino), timeout, TIMEOUT_LISTING);
}

struct fuse_entry_param entry_name_link(const struct tree *tree, const struct name_member *member)
{
	mutex_assert_held(&tree->images->lock);
	return entry_link(tree, name_link_ino(member),
			  name_timeout(name_member_is_visible(tree->images, member, NULL, false)));
}

struct fuse_entry_param entry_path_dir(const struct tree *tree, const struct path_dir *dir)
{
	struct stat st;
	mutex_assert_held(&tree->images->lock);
	attr_path_dir(&dir->attr, ino_make(NODE_PATH_DIR, path_dir_key(dir), 0), &st);
	return entry_make(tree, &st, link_generation(tree->images, st.st_ino), TIMEOUT_LISTING,
			  TIMEOUT_LISTING);
}

static struct fuse_entry_param path_link(const struct tree *tree, const struct path_file *file,
					 enum node_kind kind)
{
	mutex_assert_held(&tree->images->lock);
	return entry_link(tree, path_link_ino(tree->images, file, kind), TIMEOUT_LISTING);
}

struct fuse_entry_param entry_path_member(const struct tree *tree, const struct path_file *file)
{
	return path_link(tree, file, NODE_PATH_MEMBER);
}

struct fuse_entry_param entry_path_file(const struct tree *tree, const struct path_file *first)
{
	struct stat st;
	if (!path_file_is_fat(&tree->images->paths, first))
		return path_link(tree, path_file_alive(&tree->images->paths, first), NODE_PATH_LINK);
	mutex_assert_held(&tree->images->lock);
	attr_own_dir(tree, path_link_ino(tree->images, first, NODE_PATH_FAT), &st);
	return entry_make(tree, &st, link_generation(tree->images, st.st_ino), TIMEOUT_LISTING,
			  TIMEOUT_LISTING);
}

struct fuse_entry_param entry_build_id(const struct tree *tree, const char *digits)
{
	struct stat st;
	attr_own_dir(tree, INO_BUILD_ID + strtoul(digits, NULL, 16), &st);
	return entry_make(tree, &st, fixed_generation(tree), TIMEOUT_LISTING, TIMEOUT_LISTING);
}

struct fuse_entry_param entry_context(const struct tree *tree, const struct revision *rev,
				      const struct context *context)
{
	struct stat st;
	attr_image(&rev->source, rev_ino(rev, NODE_CONTEXT, context_code(context)), &st);
	return entry_make(tree, &st, rev->stamp, TIMEOUT_FIXED, TIMEOUT_FIXED);
}

struct fuse_entry_param entry_context_link(const struct tree *tree, const struct revision *rev,
					   unsigned index)
{
	mutex_lock(&tree->images->lock);
	struct fuse_entry_param e =
		entry_alias(tree, rev->image, (struct alias){.up = 2, .inside = index + 1});
	mutex_unlock(&tree->images->lock);
	return e;
}

struct fuse_entry_param entry_batch(const struct tree *tree, const struct revision *rev,
				    const struct request *request)
{
	struct stat st;
	if (rev)
		attr_batch(rev, rev_ino(rev, NODE_BATCH, batch_code(request)), &st);
	else
		attr_root_batch(tree, INO_BATCH + batch_code(request), &st);
	return entry_make(tree, &st, rev ? rev->stamp : fixed_generation(tree), TIMEOUT_FIXED, TIMEOUT_FIXED);
}
