/*
 * urgent.h - ids and paths that calls wait for during the first scan, for the scanner to look for at once.
 *
 * A call that parks until the first scan is over adds what it asks for, once. The scanner takes one between
 * two files of its walk and looks where such a file would be; then the call is attempted again, and parks for
 * the rest of the scan if nothing was found. All under images.lock.
 */
#ifndef FS_IMAGES_URGENT_H
#define FS_IMAGES_URGENT_H

#include "fs/call/call.h"
#include "fs/images/images.h"

/* What a call asks for: an image by its id, or what is at a path below SOURCE. */
struct urgent {
	uint64_t number;
	char *path; /* owned; NULL: the id */
	char id[ID_TEXT_SIZE];
};

/* Notes that @call waits for the image @id, or for @name in the directory @dir of by-path. */
void urgent_add_id(struct images *images, struct call *call, const char *id) REQUIRES(&images->lock);
void urgent_add_path(struct images *images, struct call *call, uint32_t dir, const char *name)
	REQUIRES(&images->lock);

/* Whether there may be any. Without the lock. */
bool urgent_any(const struct images *images);

/* Takes the oldest one, whose path becomes the caller's. */
bool urgent_take(struct images *images, struct urgent *ret) EXCLUDES(&images->lock);

/* The scanner has looked: moves the calls that wait for @urgent to @woken. */
void urgent_done(struct images *images, const struct urgent *urgent, struct list *woken)
	EXCLUDES(&images->lock);

/* Forgets all: the scan is over. */
void urgent_clear(struct images *images) REQUIRES(&images->lock);

#endif
