/* stat(2) by inode number alone. */
#include "fs/tree/attr.h"

#include <errno.h>

#include "fs/answer/answer.h"
#include "fs/images/image_find.h"
#include "fs/images/link.h"
#include "fs/tree/tree_lookup.h"

static int fixed_attr(const struct gsymfs *fs, uint64_t ino, struct stat *ret)
{
	if (ino == INO_ROOT || ino == INO_BY_NAME || ino_is_build_id(ino))
		attr_own_dir(fs, ino, ret);
	else if (ino_is_root_batch(ino) || ino == INO_LOG)
		attr_root_batch(fs, ino, ret);
	else if (ino == INO_METRICS)
		attr_metrics(fs, ino, ret);
	else
		return -ESTALE;
	return 0;
}

/* With images.lock. */
static int link_attr(const struct gsymfs *fs, uint64_t ino, struct stat *ret)
{
	char text[LINK_TEXT_SIZE];
	int size = link_text(&fs->images, ino, text);
	if (size < 0)
		return -ESTALE;
	attr_link(fs, ino, (size_t)size, ret);
	return 0;
}

/* With images.lock. by-path itself is there before SOURCE was looked at. */
static int path_dir_attr(const struct gsymfs *fs, uint64_t ino, struct stat *ret)
{
	const struct path_dir *dir = path_tree_dir(&fs->images.paths, ino_a(ino));
	if (dir)
		attr_path_dir(&dir->attr, ino, ret);
	else if (ino_a(ino) == 0)
		*ret = entry_by_path(fs).attr;
	else
		return -ESTALE;
	return 0;
}

/* Of what is known by a number and images.lock alone. */
static int number_attr(struct gsymfs *fs, uint64_t ino, struct stat *ret)
{
	pthread_mutex_lock(&fs->images.lock);
	int err = ino_kind(ino) == NODE_PATH_DIR ? path_dir_attr(fs, ino, ret) : link_attr(fs, ino, ret);
	pthread_mutex_unlock(&fs->images.lock);
	return err;
}

/* The size image.gsym has, or had when it was open. */
static uint64_t gsym_size(struct gsymfs *fs, const struct revision *rev)
{
	uint64_t size;
	pthread_mutex_lock(&fs->images.lock);
	size = rev->gsym_size;
	pthread_mutex_unlock(&fs->images.lock);
	if (size == 0 && !cache_has(&fs->cache, &rev->key, &size))
		size = 0;
	return size;
}

/* The size the table has, or had when it was measured. */
static uint64_t table_size(struct gsymfs *fs, const struct revision *rev, uint32_t listing)
{
	pthread_mutex_lock(&fs->images.lock);
	uint64_t size = listing < LISTINGS ? rev->table_sizes[listing] : 0;
	pthread_mutex_unlock(&fs->images.lock);
	return size;
}

static int image_attr(struct gsymfs *fs, uint64_t ino, struct stat *ret)
{
	struct revision *rev = images_revision(&fs->images, ino_a(ino));
	if (!rev)
		return -ESTALE;
	if (ino_kind(ino) == NODE_BATCH) {
		attr_batch(rev, ino, ret);
		return 0;
	}
	if (ino_kind(ino) != NODE_IMAGE_FILE) {
		attr_image(rev, ino, ret);
		return 0;
	}
	if (ino_b(ino) >= IMAGE_TABLE) {
		attr_image_file(rev, ino, table_size(fs, rev, ino_b(ino) - IMAGE_TABLE), ret);
		return 0;
	}
	if (ino_b(ino) == IMAGE_GSYM) {
		attr_image_file(rev, ino, gsym_size(fs, rev), ret);
		return 0;
	}
	struct content *status = status_make(fs, rev, ino_b(ino) == IMAGE_INFO);
	if (!status)
		return -ENOMEM;
	attr_image_file(rev, ino, status->size, ret);
	content_put(status);
	return 0;
}

static int address_attr(struct gsymfs *fs, uint64_t ino, struct stat *ret)
{
	struct node node;
	if (!nodes_get(&fs->nodes, ino, &node))
		return -ESTALE;
	content_put(node.content);
	switch ((enum node_is)node.is) {
	case NODE_IS_ADDRESS: attr_image_file(node.revision, ino, node.size, ret); break;
	case NODE_IS_CONTEXT: attr_image(node.revision, ino, ret); break;
	case NODE_IS_BATCH: attr_batch(node.revision, ino, ret); break;
	}
	return 0;
}

int node_attr(struct gsymfs *fs, uint64_t ino, struct stat *ret, double *ret_timeout)
{
	*ret_timeout = TIMEOUT_FIXED;
	switch (ino_kind(ino)) {
	case NODE_FIXED: *ret_timeout = TIMEOUT_LISTING; return fixed_attr(fs, ino, ret);
	case NODE_NAME:
	case NODE_PATH_FAT:
		*ret_timeout = TIMEOUT_LISTING;
		attr_own_dir(fs, ino, ret);
		return 0;
	case NODE_IMAGE_FILE:
		*ret_timeout = image_file_is_fixed(ino_b(ino)) ? TIMEOUT_FIXED : 0;
		return image_attr(fs, ino, ret);
	case NODE_IMAGE:
	case NODE_BATCH:
	case NODE_CONTEXT: return image_attr(fs, ino, ret);
	case NODE_ADDRESS: return address_attr(fs, ino, ret);
	case NODE_PATH_DIR: *ret_timeout = TIMEOUT_LISTING; return number_attr(fs, ino, ret);
	case NODE_PATH_LINK:
	case NODE_PATH_MEMBER:
	case NODE_NAME_LINK:
	case NODE_ALIAS: return number_attr(fs, ino, ret);
	}
	return -ESTALE;
}
