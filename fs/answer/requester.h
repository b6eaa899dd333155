/* requester.h - whoever opened a file that answers for all images, and what they may know of each. */
#ifndef FS_ANSWER_REQUESTER_H
#define FS_ANSWER_REQUESTER_H

#include "gsym/base/bytes.h"
#include "fs/answer/answers.h"
#include "fs/images/caller.h"

struct call;

struct requester {
	struct answers *answers;
	struct caller caller;
	/* What was named last, as most questions name the same; only within one attempt of a call. */
	char id[NAME_BYTES_MAX + 1];
	struct image *named;
};

/* An attempt of a call begins: what was found before may be gone. */
void requester_begin(struct requester *requester);

/* The image called @id in any spelling, or NULL; -EAGAIN with call->wait filled while it may still be found.
 */
int requester_find_image(struct requester *requester, struct span id, struct call *call, struct image **ret);

/*
 * The open image as it is now, with a reference, if the requester may read it: the file it comes from may be
 * another than at the last time. -EACCES; -ESTALE when its files are gone; -EAGAIN with call->wait filled;
 * why it cannot be converted.
 */
int requester_open_image(const struct requester *requester, struct image *image, struct call *call,
			 struct revision **ret_rev, struct handle **ret);

/* With images.lock: starts the conversion of an image that will be used soon, if the requester may use it. */
void requester_prefetch(const struct requester *requester, const struct image *image);

#endif
