#include "fs/tree/entry.h"

#include <stdlib.h>

#include "fs/images/basename.h"
#include "fs/images/link.h"
#include "fs/images/revision.h"
#include "fs/tree/attr.h"

struct fuse_entry_param entry_none(void)
{
	return (struct fuse_entry_param){.entry_timeout = TIMEOUT_NEGATIVE};
}

struct fuse_entry_param entry_make(const struct tree *tree, const struct stat *attr, double entry_timeout,
				   double attr_timeout)
{
	return (struct fuse_entry_param){
		.ino = attr->st_ino,
		.generation = (uint64_t)tree->mounted_at.tv_sec,
		.attr = *attr,
		.entry_timeout = entry_timeout,
		.attr_timeout = attr_timeout,
	};
}

struct fuse_entry_param entry_image(const struct tree *tree, struct image *image)
{
	struct stat st;
	mutex_assert_held(&tree->images->lock);
	image->exposed = true;
	attr_image(image_source(image), ino_make(NODE_IMAGE, image->number, image->generation), &st);
	/* During the first scan the kernel is not notified of a better source: see notify.h. */
	return entry_make(tree, &st, tree->images->scanned ? TIMEOUT_FIXED : TIMEOUT_LISTING, TIMEOUT_FIXED);
}

/* A link that was given out, as long as it leads to something: what it says never changes. */
static struct fuse_entry_param entry_link(const struct tree *tree, uint64_t ino, double timeout)
{
	struct stat st;
	char text[LINK_TEXT_SIZE];
	mutex_assert_held(&tree->images->lock);
	attr_link(tree, ino, (size_t)link_text(tree->images, ino, text), &st);
	return entry_make(tree, &st, timeout, TIMEOUT_FIXED);
}

struct fuse_entry_param entry_alias(const struct tree *tree, const struct image *image, unsigned up)
{
	return entry_link(tree, ino_make(NODE_ALIAS, image->number, up), TIMEOUT_ALIAS);
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
	attr_own_dir(tree, ino_make(NODE_NAME, name->number, 0), &st);
	double timeout = name_timeout(basename_is_visible(tree->images, name, NULL, false));
	return entry_make(tree, &st, timeout, TIMEOUT_LISTING);
}

struct fuse_entry_param entry_name_link(const struct tree *tree, const struct name_member *member)
{
	mutex_assert_held(&tree->images->lock);
	return entry_link(tree, ino_make(NODE_NAME_LINK, member->basename->number, member->image->number),
			  name_timeout(name_member_is_visible(tree->images, member, NULL, false)));
}

struct fuse_entry_param entry_path_dir(const struct tree *tree, const struct path_dir *dir)
{
	struct stat st;
	attr_path_dir(&dir->attr, ino_make(NODE_PATH_DIR, dir->number, 0), &st);
	return entry_make(tree, &st, TIMEOUT_LISTING, TIMEOUT_LISTING);
}

static struct fuse_entry_param path_link(const struct tree *tree, const struct path_file *file,
					 enum node_kind kind)
{
	return entry_link(tree, ino_make(kind, file->number, 0), TIMEOUT_LISTING);
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
	attr_own_dir(tree, ino_make(NODE_PATH_FAT, first->number, 0), &st);
	return entry_make(tree, &st, TIMEOUT_LISTING, TIMEOUT_LISTING);
}

struct fuse_entry_param entry_build_id(const struct tree *tree, const char *digits)
{
	struct stat st;
	attr_own_dir(tree, INO_BUILD_ID + strtoul(digits, NULL, 16), &st);
	return entry_make(tree, &st, TIMEOUT_LISTING, TIMEOUT_LISTING);
}

struct fuse_entry_param entry_context(const struct tree *tree, const struct revision *rev,
				      const struct context *context)
{
	struct stat st;
	attr_image(&rev->source, ino_make(NODE_CONTEXT, rev->number, context_code(context)), &st);
	return entry_make(tree, &st, TIMEOUT_FIXED, TIMEOUT_FIXED);
}

struct fuse_entry_param entry_batch(const struct tree *tree, const struct revision *rev,
				    const struct request *request)
{
	struct stat st;
	if (rev)
		attr_batch(rev, ino_make(NODE_BATCH, rev->number, batch_code(request)), &st);
	else
		attr_root_batch(tree, INO_BATCH + batch_code(request), &st);
	return entry_make(tree, &st, TIMEOUT_FIXED, TIMEOUT_FIXED);
}
