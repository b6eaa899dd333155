/* image_facts.h - an image in a few words, as status and images.tsv say them. Under images.lock. */
#ifndef FS_IMAGES_IMAGE_FACTS_H
#define FS_IMAGES_IMAGE_FACTS_H

#include "fs/images/caller.h"
#include "fs/images/images.h"

struct image_facts {
	const char *id, *kind, *arch;
	const char *name; /* of the file with the code if readers may know of it, else of the source */
	const char *path; /* of the source, which is converted: below SOURCE, absolute if it was fetched */
	enum revision_state state;
	uint32_t functions; /* in STATE_READY */
	bool readable;      /* by the caller */
};

/* Of an image that is there. All text is borrowed from it. @caller: NULL for none. */
struct image_facts image_facts(const struct images *images, const struct image *image,
			       const struct caller *caller) REQUIRES(&images->lock);

/* Likewise of a revision, which may be stale. */
struct image_facts revision_facts(const struct images *images, const struct revision *rev)
	REQUIRES(&images->lock);

/* Whether all who may read the image, whose source is @of, may also read @source, and so know where it is. */
bool source_is_known(const struct source *of, const struct source *source);

#endif
