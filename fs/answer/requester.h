/*
 * requester.h - the user who opened a file that answers for all images.
 *
 * Each image is used only if the user may read the source it was made of, with the rights at the time of
 * open.
 */
#ifndef FS_ANSWER_REQUESTER_H
#define FS_ANSWER_REQUESTER_H

#include "gsym/base/bytes.h"
#include "fs/answer/answers.h"
#include "fs/answer/held_handles.h"
#include "fs/images/caller.h"

struct call;

struct requester {
	struct answers *answers;
	struct caller caller; /* owned */
	struct held_handles held;
	/* The id that was named last, and its image: consecutive lines mostly name the same. Valid within one
	 * attempt of a call. */
	char id[NAME_BYTES_MAX + 1];
	struct image *named;
	bool failed_here; /* the last requester_open_image() did, for a fault of the machine */
};

/* Frees what it owns. */
void requester_deinit(struct requester *requester);

/* Begins an attempt of a call: forgets the image that was named last. */
void requester_begin(struct requester *requester);

/*
 * The image of @id, in any spelling, or NULL; -EAGAIN with call->wait filled while a scan or servers may
 * still find it.
 */
int requester_find_image(struct requester *requester, struct span id, struct call *call, struct image **ret);

/*
 * The only image with a file of that name that the requester may know of. -ENOENT; -ENOTUNIQ when there are
 * several; -EAGAIN with call->wait filled while a scan may still find more.
 */
int requester_find_name(struct requester *requester, const char *name, struct call *call, struct image **ret);

/*
 * The image's current revision and its open cache file, with a reference, if the requester may read it. The
 * file is held for the next use: it counts as open although it was evicted meanwhile.
 * -EACCES; -ESTALE when no source is left; -EAGAIN with call->wait filled; the errno of a failed conversion.
 * Sets @failed_here.
 */
int requester_open_image(struct requester *requester, struct image *image, struct call *call,
			 struct revision **ret_rev, struct handle **ret);

/*
 * Starts the conversion of an image that will be used soon and is not held, if the requester may read it.
 * @whole: for more than a few addresses.
 */
void requester_prefetch(struct requester *requester, struct image *image, bool whole)
	REQUIRES(&requester->answers->images->lock);

#endif
