#include "fs/images/link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/images/inode_numbers.h"

/* What a link says: how many directories up, and the id of an image. */
struct target {
	unsigned up;
	const struct image *image;
};

/* Of a link in by-path, which is as far from the root as its directory, and one further in a file with
 * several images. */
static int path_target(const struct images *images, uint64_t ino, struct target *ret) REQUIRES(&images->lock)
{
	const struct path_file *file = path_file_at(images, ino);
	if (!file)
		return -ESTALE;
	ret->image = slots_get(&images->all, file->image);
	ret->up =
		path_tree_dir(&images->paths, file->dir)->depth + (ino_kind(ino) == NODE_PATH_MEMBER ? 2 : 1);
	return 0;
}

static int find_target(const struct images *images, uint64_t ino, struct target *ret) REQUIRES(&images->lock)
{
	switch (ino_kind(ino)) {
	case NODE_ALIAS: *ret = (struct target){ino_b(ino), images_by_key(images, ino_a(ino))}; return 0;
	case NODE_NAME_LINK: *ret = (struct target){2, images_by_key(images, ino_b(ino))}; return 0;
	case NODE_PATH_LINK:
	case NODE_PATH_MEMBER: return path_target(images, ino, ret);
	default: return -EINVAL;
	}
}

int link_text(const struct images *images, uint64_t ino, char ret[static LINK_TEXT_SIZE])
{
	struct target target;
	int err = find_target(images, ino, &target);
	if (err)
		return err;
	if (!target.image)
		return -ESTALE;
	for (unsigned i = 0; i < target.up; i++)
		memcpy(ret + 3 * (size_t)i, "../", 3);
	return (int)(3 * target.up) +
	       snprintf(ret + 3 * (size_t)target.up, ID_TEXT_SIZE, "%s", target.image->id);
}
