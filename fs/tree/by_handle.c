/*
 * by_handle.c - what file handles lead to, for servers of NFS and open_by_handle_at(2): the kernel has an
 * inode number, of this mount or one before it, but no inode, or a directory, but not the one it is in. The
 * number alone must do; the kernel compares the generation.
 *
 * What has a computed number is found by that. An answer is made again, and has the same number then; so is a
 * snapshot. During the first scan what is not found may be yet to come.
 */
#include <errno.h>

#include "fs/images/image_find.h"
#include "fs/images/revision.h"
#include "fs/images/inode_numbers.h"
#include "fs/tree/attr.h"
#include "fs/tree/entry.h"
#include "fs/tree/fixed.h"
#include "fs/tree/tree.h"

static uint64_t path_dir_ino(const struct path_tree *paths, uint32_t number)
{
	return ino_make(NODE_PATH_DIR, path_dir_key(path_tree_dir(paths, number)), 0);
}

static uint64_t path_parent(const struct images *images, uint64_t ino) REQUIRES(&images->lock)
{
	const struct path_tree *paths = &images->paths;
	if (ino_kind(ino) == NODE_PATH_DIR) {
		const struct path_dir *dir = path_dir_by_key(paths, ino_a(ino));
		return dir && dir->parent != PATH_NONE ? path_dir_ino(paths, dir->parent) : INO_ROOT;
	}
	const struct path_file *file = path_file_at(images, ino);
	if (!file)
		return 0;
	if (ino_kind(ino) == NODE_PATH_MEMBER)
		return path_link_ino(images, file, NODE_PATH_FAT);
	return path_dir_ino(paths, file->dir);
}

static uint64_t parent_in_paths(struct images *images, uint64_t ino)
{
	mutex_lock(&images->lock);
	uint64_t parent = path_parent(images, ino);
	mutex_unlock(&images->lock);
	return parent;
}

static uint64_t directory_of(const struct revision *rev)
{
	return rev ? rev->ino : 0;
}

static uint64_t parent_of(struct tree *tree, uint64_t ino)
{
	struct node node;
	switch (ino_kind(ino)) {
	case NODE_NAME: return INO_BY_NAME;
	case NODE_NAME_LINK: return ino_make(NODE_NAME, ino_a(ino), 0);
	case NODE_PATH_DIR:
	case NODE_PATH_LINK:
	case NODE_PATH_FAT:
	case NODE_PATH_MEMBER: return parent_in_paths(tree->images, ino);
	case NODE_CONTEXT:
	case NODE_BATCH:
	case NODE_IMAGE_FILE: return directory_of(images_revision(tree->images, ino));
	case NODE_ADDRESS:
		if (!nodes_get(&tree->nodes, ino, &node))
			return 0;
		content_put(node.content);
		return node.revision ? directory_of(node.revision) : INO_ROOT;
	default: return INO_ROOT;
	}
}

/*
 * The result if nothing has the number, which a daemon before this one may have given out: the first scan may
 * find what has it. It is made before the number is looked for, since the scan may find it and end meanwhile.
 */
struct miss {
	int err;
	struct wait wait;
};

static struct miss miss_of(struct images *images)
{
	struct miss miss = {.err = -ESTALE};
	mutex_lock(&images->lock);
	if (!images->scanned)
		miss.err = images_await(images, "", &miss.wait);
	mutex_unlock(&images->lock);
	return miss;
}

static int none_of_number(struct call *call, const struct miss *miss)
{
	call->wait = miss->wait;
	return miss->err;
}

/* 0: nothing has that number. */
static uint32_t generation_of(struct tree *tree, uint64_t ino)
{
	struct images *images = tree->images;
	if (ino_kind(ino) == NODE_FIXED)
		return fixed_generation(tree);
	if (ino_is_of_image(ino)) {
		const struct revision *rev = images_revision(images, ino);
		return rev ? rev->stamp : 0;
	}
	mutex_lock(&images->lock);
	uint32_t generation = link_generation(images, ino);
	mutex_unlock(&images->lock);
	return generation;
}

static int by_number(struct call *call, uint64_t ino, const struct miss *miss, struct fuse_entry_param *ret)
{
	struct tree *tree = tree_of(call);
	struct stat st;
	double timeout;
	uint32_t generation = generation_of(tree, ino);
	int err = node_attr(tree, ino, &st, &timeout);
	if (!generation || err)
		return none_of_number(call, miss);
	*ret = entry_make(tree, &st, generation, TIMEOUT_FIXED, timeout);
	return 0;
}

/*
 * The answer that a number says, which is made again. It has another number if its image has just been
 * closed, and only a fragment is there.
 */
static int answer_by_number(struct call *call, struct revision *rev, const struct answer_place *place,
			    struct fuse_entry_param *ret)
{
	struct tree *tree = tree_of(call);
	struct request request = place->request;
	struct handle *handle;
	bool known;
	int err = revision_use(tree->images, rev, &handle, &call->wait);
	if (err)
		return err;
	request.address = answer_place_address(place, handle->addresses.base);
	handle_put(handle);
	err = answer_entry(call, rev, &request, ret, &known);
	if (err || ret->ino == call->ino)
		return err;
	nodes_forget(&tree->nodes, ret->ino, 1);
	return -ESTALE;
}

/* The revision of the image that the number of an answer is about. */
static int find_revision(struct tree *tree, const struct answer_place *place, struct revision **ret)
{
	struct images *images = tree->images;
	mutex_lock(&images->lock);
	struct image *image = images_by_key_end(images, place);
	/* A debug file alone: the first scan may find the program, whose answers have another generation. */
	if (image && !images->scanned && !image_source(image)->has_text && !image_binary(image))
		image = NULL;
	*ret = image ? image_revision(images, image) : NULL;
	mutex_unlock(&images->lock);
	return *ret ? 0 : image ? -ENOMEM : -ESTALE;
}

static int find_answer(struct call *call, const struct miss *miss, struct fuse_entry_param *ret)
{
	struct revision *rev;
	struct answer_place place;
	if (!ino_answer_place(call->ino, &place))
		return -ESTALE;
	int err = find_revision(tree_of(call), &place, &rev);
	if (!err)
		err = answer_by_number(call, rev, &place, ret);
	if (err == -ESTALE) /* or the first scan has just found a better file */
		err = none_of_number(call, miss);
	return err == -ENOENT ? -ESTALE : err;
}

/* What the kernel has a handle of, in the table or, when it has forgotten it, to be put there again. */
static int in_table(struct call *call, const struct miss *miss, struct fuse_entry_param *ret)
{
	struct tree *tree = tree_of(call);
	struct node node;
	struct stat st;
	double timeout;
	uint64_t ino = call->ino;
	if (!nodes_remember(&tree->nodes, ino))
		return ino_table(ino) == INO_SNAPSHOT ? fixed_itself(call, ret)
						      : find_answer(call, miss, ret);
	/* The kernel knows it now, so it stays. */
	nodes_get(&tree->nodes, ino, &node);
	content_put(node.content);
	node_attr(tree, ino, &st, &timeout);
	*ret = entry_make(tree, &st, node.is == NODE_IS_SNAPSHOT ? fixed_generation(tree) : node.generation,
			  TIMEOUT_FIXED, timeout);
	ret->ino = ino;
	return 0;
}

int handle_itself(struct call *call, struct fuse_entry_param *ret)
{
	const struct miss miss = miss_of(tree_of(call)->images);
	if (ino_kind(call->ino) == NODE_ADDRESS)
		return in_table(call, &miss, ret);
	if (ino_kind(call->ino) != NODE_IMAGE_FILE)
		return by_number(call, call->ino, &miss, ret);
	int err = fixed_itself(call, ret); /* whose size may be known only when its image is open */
	return err == -ESTALE ? none_of_number(call, &miss) : err;
}

int handle_parent(struct call *call, struct fuse_entry_param *ret)
{
	const struct miss miss = miss_of(tree_of(call)->images);
	return by_number(call, parent_of(tree_of(call), call->ino), &miss, ret);
}
