#include "fs/tree/tree.h"

#include <errno.h>

#include "fs/images/inode_numbers.h"
#include "fs/images/revision.h"
#include "fs/tree/attr.h"
#include "fs/tree/fixed.h"

static int link_attr(const struct tree *tree, uint64_t ino, struct stat *ret) REQUIRES(&tree->images->lock)
{
	char text[LINK_TEXT_SIZE];
	int size = link_text(tree->images, ino, text);
	if (size < 0)
		return -ESTALE;
	attr_link(tree, ino, (size_t)size, ret);
	return 0;
}

static int path_dir_attr(const struct tree *tree, uint64_t ino, struct stat *ret)
	REQUIRES(&tree->images->lock)
{
	const struct path_dir *dir = path_dir_by_key(&tree->images->paths, ino_a(ino));
	if (!dir && ino_a(ino) != 0)
		return -ESTALE;
	if (dir)
		attr_path_dir(&dir->attr, ino, ret);
	else
		attr_by_path(tree, ret);
	return 0;
}

static int image_attr(const struct tree *tree, uint64_t ino, struct stat *ret) REQUIRES(&tree->images->lock)
{
	const struct image *image = images_at(tree->images, ino);
	if (!image)
		return -ESTALE;
	attr_image(image_source(image), ino, ret);
	return 0;
}

static int find_attr(const struct tree *tree, uint64_t ino, struct stat *ret) REQUIRES(&tree->images->lock)
{
	switch (ino_kind(ino)) {
	case NODE_IMAGE: return image_attr(tree, ino, ret);
	case NODE_PATH_DIR: return path_dir_attr(tree, ino, ret);
	default: return link_attr(tree, ino, ret);
	}
}

/* Of what is known by a number and images.lock alone. */
static int number_attr(struct tree *tree, uint64_t ino, struct stat *ret)
{
	mutex_lock(&tree->images->lock);
	int err = find_attr(tree, ino, ret);
	mutex_unlock(&tree->images->lock);
	return err;
}

static int revision_attr(struct tree *tree, uint64_t ino, struct stat *ret)
{
	struct revision *rev = images_revision(tree->images, ino);
	if (!rev)
		return -ESTALE;
	if (ino_kind(ino) == NODE_BATCH)
		attr_batch(rev, ino, ret);
	else
		attr_image(&rev->source, ino, ret);
	return 0;
}

static int address_attr(struct tree *tree, uint64_t ino, struct stat *ret)
{
	struct node node;
	if (!nodes_get(&tree->nodes, ino, &node))
		return -ESTALE;
	content_put(node.content);
	switch ((enum node_is)node.is) {
	case NODE_IS_ADDRESS: attr_image_file(node.revision, ino, node.size, ret); break;
	case NODE_IS_CONTEXT: attr_image(&node.revision->source, ino, ret); break;
	case NODE_IS_BATCH: attr_batch(node.revision, ino, ret); break;
	case NODE_IS_SNAPSHOT: attr_snapshot(tree, node.address, node.reader, node.size, ret); break;
	}
	return 0;
}

/* The root itself, what is in it, and the directories xx. */
static int root_attr(struct tree *tree, uint64_t ino, struct stat *ret, double *ret_timeout)
{
	if (ino_is_root_batch(ino)) {
		attr_root_batch(tree, ino, ret);
		return 0;
	}
	if (ino != INO_ROOT && !ino_is_build_id(ino))
		return fixed_attr(tree, ino, ret, ret_timeout);
	*ret_timeout = TIMEOUT_LISTING;
	attr_own_dir(tree, ino, ret);
	return 0;
}

int node_attr(struct tree *tree, uint64_t ino, struct stat *ret, double *ret_timeout)
{
	*ret_timeout = TIMEOUT_FIXED;
	switch (ino_kind(ino)) {
	case NODE_FIXED: return root_attr(tree, ino, ret, ret_timeout);
	case NODE_NAME:
	case NODE_PATH_FAT: /* what is in them is looked for when it is asked */
		*ret_timeout = TIMEOUT_LISTING;
		attr_own_dir(tree, ino, ret);
		return 0;
	case NODE_IMAGE_FILE: return fixed_attr(tree, ino, ret, ret_timeout);
	case NODE_BATCH:
	case NODE_CONTEXT: return revision_attr(tree, ino, ret);
	case NODE_ADDRESS: return address_attr(tree, ino, ret);
	case NODE_PATH_DIR: *ret_timeout = TIMEOUT_LISTING; return number_attr(tree, ino, ret);
	case NODE_IMAGE:
	case NODE_PATH_LINK:
	case NODE_PATH_MEMBER:
	case NODE_NAME_LINK:
	case NODE_ALIAS: return number_attr(tree, ino, ret);
	}
	return -ESTALE;
}
