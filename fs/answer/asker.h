/* asker.h - whoever opened a file that answers for all images, and what they may know of each. */
#ifndef FS_ANSWER_ASKER_H
#define FS_ANSWER_ASKER_H

#include "gsym/base/bytes.h"
#include "fs/answer/answers.h"
#include "fs/images/caller.h"

struct call;

struct asker {
	struct answers *answers;
	struct caller caller;
	/* What was named last, as most questions name the same; only within one attempt of a call. */
	char id[NAME_BYTES_MAX + 1];
	struct image *named;
};

/* An attempt of a call begins: what was found before may be gone. */
void asker_begin(struct asker *asker);

/* The image called @id in any spelling, or NULL; -EAGAIN with call->wait filled while it may still be found.
 */
int asker_find(struct asker *asker, struct span id, struct call *call, struct image **ret);

/*
 * The open image as it is now, with a reference, if the asker may read it: the file it comes from may be
 * another than at the last time. -EACCES; -ESTALE when its files are gone; -EAGAIN with call->wait filled;
 * why it cannot be converted.
 */
int asker_use(const struct asker *asker, struct image *image, struct call *call, struct revision **ret_rev,
	      struct handle **ret);

/* With images.lock: starts the conversion of an image that will be used soon, if the asker may use it. */
void asker_want(const struct asker *asker, const struct image *image);

#endif
