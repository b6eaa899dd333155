/*
 * fragments.h - what is known of images that are not converted: small files with some functions of them.
 *
 * Each holds the functions around addresses that were asked, as the whole image will have them. All images
 * together have a bounded number of them, and of bytes; the oldest ones make room.
 */
#ifndef FS_IMAGES_FRAGMENTS_H
#define FS_IMAGES_FRAGMENTS_H

#include "fs/images/images.h"

/*
 * Adds @handle, whose reference is taken over. What it displaces is moved to @dropped: that, too, if there is
 * no memory. All of @dropped must be freed with fragments_free(), without the lock.
 */
void fragments_add(struct images *images, struct revision *rev, struct handle *handle, struct list *dropped)
	REQUIRES(&images->lock);

/* Moves all fragments of @rev to @dropped. */
void fragments_drop(struct images *images, struct revision *rev, struct list *dropped)
	REQUIRES(&images->lock);

void fragments_free(struct list *dropped);

/*
 * Takes references to the fragments of @rev, at most FRAGMENTS_MAX, the newest first. Returns their number;
 * @ret_made: how many were made so far.
 */
size_t fragments_get(struct images *images, const struct revision *rev,
		     struct handle *ret[static FRAGMENTS_MAX], unsigned *ret_made) EXCLUDES(&images->lock);

/* The revision with the oldest fragment of those for which @wanted returns true; or NULL. */
struct revision *fragments_oldest(const struct images *images,
				  bool (*wanted)(const void *user, const struct revision *rev),
				  const void *user) REQUIRES(&images->lock);

/* Functions in them; one that is in several is counted as often. */
uint64_t fragments_functions(const struct images *images, const struct revision *rev) REQUIRES(&images->lock);

#endif
