/*
 * inode_numbers.h - inode numbers of images, names and paths, the generations that go with them, and the text
 * of links. A daemon finds again what another one gave out, see node.h. Under images.lock.
 *
 * The numbers of the directory of an image, and of what is in it, say which version of the image they are of:
 * what the kernel was told about one stays true. A version is made of the chosen files, and only if that was
 * used before in this mount, of a count.
 */
#ifndef FS_IMAGES_INODE_NUMBERS_H
#define FS_IMAGES_INODE_NUMBERS_H

#include "fs/images/images.h"
#include "fs/name/node.h"

/* ---- Images ---- */

/* Before it is added to images.by_id with @hash. One that comes back after inodes below its directory were
 * known needs other numbers than it had then. */
void image_choose_key(const struct images *images, struct image *image, uint64_t hash)
	REQUIRES(&images->lock);
void image_retire_key(struct images *images, const struct image *image) REQUIRES(&images->lock);

/* Image.choice is another than before, or what depends on it: the next version. */
void image_next_version(struct image *image);

/* The version may be known to the kernel from now on, or to threads without the lock. */
void image_version_used(struct image *image);

uint32_t image_key(const struct image *image);
struct image *images_by_key(const struct images *images, uint32_t key) REQUIRES(&images->lock);

/*
 * The image whose key ends so, if its answers have numbers that say so. Of several, one of which something
 * was asked.
 */
struct image *images_by_key_end(const struct images *images, const struct answer_place *place)
	REQUIRES(&images->lock);

/* The inode number of its directory, in its present version; below, the code is added. */
uint64_t image_ino(const struct image *image);

/* The inode number of something in the directory of its image. Without the lock. */
uint64_t rev_ino(const struct revision *rev, enum node_kind kind, uint32_t code);

/* The generation of that number, and of those below. */
uint32_t image_generation(const struct images *images, const struct image *image) REQUIRES(&images->lock);

/*
 * The number and generation of the answer to @request by @rev, of a file of the cache with @stamp (handle.h)
 * that is linked to @base; 0 if it can have none. Without the lock.
 */
static inline struct node_id answer_id(const struct revision *rev, const struct request *request,
				       uint64_t base, uint64_t stamp)
{
	uint32_t key = ino_a(rev->ino);
	uint64_t mixed = (stamp ^ (uint64_t)rev->stamp << 32) * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t ino = key & INODE_KEY_ODD ? 0 : ino_of_answer(key, request, base);
	return (struct node_id){ino, ino ? inode_generation(mixed) : 0};
}

/* ---- Names and paths ---- */

uint64_t basename_ino(const struct basename *name);
struct basename *basename_at(const struct images *images, uint64_t ino) REQUIRES(&images->lock);

uint64_t name_link_ino(const struct name_member *member);
uint64_t path_link_ino(const struct images *images, const struct path_file *file, enum node_kind kind)
	REQUIRES(&images->lock);

/* The path_file that a NODE_PATH_LINK or NODE_PATH_MEMBER stands for, gone or not, or the first of a
 * NODE_PATH_FAT; NULL. */
const struct path_file *path_file_at(const struct images *images, uint64_t ino) REQUIRES(&images->lock);

/* The generation of the number of a name, a path, or a link; 0: it stands for nothing. */
uint32_t link_generation(const struct images *images, uint64_t ino) REQUIRES(&images->lock);

/* ---- Links ---- */

enum {
	LINK_INSIDE_SIZE = 16, /* a slash and the longest name in named_contexts[] */
	LINK_TEXT_SIZE = 3 * (PATH_DEPTH_MAX + 2) + ID_TEXT_SIZE + LINK_INSIDE_SIZE,
};

/*
 * With images.lock: the text of the link @ino, which is of the number's kind for ever. Its length; -EINVAL
 * when the number is that of no link, -ESTALE when it was never given out.
 */
int link_text(const struct images *images, uint64_t ino, char ret[static LINK_TEXT_SIZE])
	REQUIRES(&images->lock);

#endif
