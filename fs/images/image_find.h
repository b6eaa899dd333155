/*
 * image_find.h - images by their ids: exact, by their beginnings, in other spellings, and by further ids of
 * their files.
 */
#ifndef FS_IMAGES_IMAGE_FIND_H
#define FS_IMAGES_IMAGE_FIND_H

#include "fs/call/call.h"
#include "fs/images/images.h"

/* The image with exactly this id, or NULL. */
struct image *images_find(const struct images *images, const char *id) REQUIRES(&images->lock);

/* Removes the image from those that are sorted, if it is there. */
void images_remove_sorted(struct images *images, const struct image *image) REQUIRES(&images->lock);

/* Whether there is a living image whose id begins with @prefix. */
bool images_has_prefix(struct images *images, const char *prefix) REQUIRES(&images->lock);

/*
 * Finds images by a build id of which the end may be missing, if they have a file that says so itself.
 * @truncated: what their ids begin with, 32 digits, or the id itself without zeros at its end
 * @pass: of the scan that saw the file; 0: any
 * @ret, @max: room for so many of them
 * How many there are, at most @max.
 */
size_t images_find_whole(struct images *images, const char *truncated, uint32_t pass, struct image **ret,
			 size_t max) REQUIRES(&images->lock);

/*
 * The image that @request, of REQUEST_ID, names in any spelling. It has a source. Fills @ret_wait and
 * returns -EAGAIN while it may still be found; else 0 or the errno for what is not there.
 */
int images_lookup(struct images *images, const struct request *request, struct image **ret,
		  struct wait *ret_wait) REQUIRES(&images->lock);

/*
 * Fills @ret_wait, until the first scan is over, or after that no file is hashed any more, or an image with
 * this id is found ("": any): -EAGAIN.
 */
int images_await(struct images *images, const char *id, struct wait *ret_wait) REQUIRES(&images->lock);

/* For a name of a file that is not there: likewise, or the errno if none can come any more. */
int images_await_name(struct images *images, struct wait *ret_wait) REQUIRES(&images->lock);

/* Likewise for the name that the call looks up in a directory of by-path. */
int images_await_path(struct images *images, struct wait *ret_wait) REQUIRES(&images->lock);

#endif
