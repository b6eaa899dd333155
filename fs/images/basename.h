/* basename.h - the directory by-name: base names of files and the images they hold. Under images.lock. */
#ifndef FS_IMAGES_BASENAME_H
#define FS_IMAGES_BASENAME_H

#include "fs/images/caller.h"
#include "fs/images/images.h"

struct basename *images_find_basename(const struct images *images, const char *name) REQUIRES(&images->lock);

/* The living member of @name for @image, or NULL. */
struct name_member *images_find_member(const struct images *images, const struct basename *name,
				       const struct image *image) REQUIRES(&images->lock);

/*
 * Notes that an image has a file of that name.
 * @name: of the file, without its directory
 * @pass: of the scan that sees it
 * @ret: the image below that name
 * 0 or -ENOMEM.
 */
int basename_add(struct images *images, const char *name, struct image *image, uint32_t pass,
		 struct name_member **ret) REQUIRES(&images->lock);

/*
 * Whether @caller may know of the member, or of some member of @name: by-path shows a file of that name and
 * image in a directory that it may search, or with @listed read. @caller NULL: whether every user may.
 */
bool name_member_is_visible(const struct images *images, const struct name_member *member,
			    const struct caller *caller, bool listed) REQUIRES(&images->lock);
bool basename_is_visible(const struct images *images, const struct basename *name,
			 const struct caller *caller, bool listed) REQUIRES(&images->lock);

/*
 * The only image that @caller may know of with a file called like the last component of @path, or of several
 * the only one that by-path has as @path itself, from the root. -ENOENT when there is none, or a scan is yet
 * to see all of SOURCE; -ENOTUNIQ when there are several.
 */
int images_find_only(const struct images *images, const char *path, const struct caller *caller,
		     struct image **ret) REQUIRES(&images->lock);

/*
 * Notes a name that a file of an image tells, although the file itself is called otherwise.
 * @name: what it tells
 * @dir: the directory of the file in by-path
 * @pass: of the scan that sees it
 * 0 or -ENOMEM.
 */
int basename_add_title(struct images *images, const char *name, struct image *image, uint32_t dir,
		       uint32_t pass) REQUIRES(&images->lock);

/* A file called @name that held @image is gone from by-path: so is the member, if that was the last one. */
void basename_forget(struct images *images, const char *name, const struct image *image)
	REQUIRES(&images->lock);

/* Removes @file, which is gone and held @image, and with it what only it needed. */
void basename_remove_file(struct images *images, const struct path_file *file, const struct image *image)
	REQUIRES(&images->lock);

/* Forgets what scan @pass did not see. */
void basenames_sweep(struct images *images, uint32_t pass) REQUIRES(&images->lock);

void basenames_free(struct images *images);

#endif
