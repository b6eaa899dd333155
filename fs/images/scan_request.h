/*
 * scan_request.h - ids and paths that calls wait for during the first scan, to be looked for at once.
 *
 * A call that parks until the first scan is over adds what it asks for, once. The scanner takes one between
 * two files of its walk and looks where such a file would be; then the call is attempted again, and parks for
 * the rest of the scan if nothing was found. All under images.lock.
 */
#ifndef FS_IMAGES_SCAN_REQUEST_H
#define FS_IMAGES_SCAN_REQUEST_H

#include "fs/call/call.h"
#include "fs/images/images.h"

/* What a call asks for: an image by its id, or what is at a path below SOURCE. */
struct scan_request {
	uint64_t number;
	char *path; /* owned; NULL: the id */
	char id[ID_TEXT_SIZE];
};

/* Notes that @call waits for the image @id, or for @name in the directory @dir of by-path. */
void scan_request_add_id(struct images *images, struct call *call, const char *id) REQUIRES(&images->lock);
void scan_request_add_path(struct images *images, struct call *call, uint32_t dir, const char *name)
	REQUIRES(&images->lock);

/* Whether there may be any. Without the lock. */
bool scan_request_any(const struct images *images);

/* Takes the oldest one, whose path becomes the caller's. */
bool scan_request_take(struct images *images, struct scan_request *ret) EXCLUDES(&images->lock);

/* The scanner has looked: moves the calls that wait for @request to @woken. */
void scan_request_done(struct images *images, const struct scan_request *request, struct list *woken)
	EXCLUDES(&images->lock);

/* Forgets all: the scan is over. */
void scan_request_clear(struct images *images) REQUIRES(&images->lock);

#endif
