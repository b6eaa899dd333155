/*
 * other_ids.h - images by the further ids of their files: OpenTelemetry's htlhash, Go's build id.
 *
 * Most mounts are never asked for one, so the table is made when the first is looked up, and kept from then
 * on.
 */
#ifndef FS_IMAGES_OTHER_IDS_H
#define FS_IMAGES_OTHER_IDS_H

#include "fs/images/images.h"

enum { HTLHASH_TEXT_SIZE = 2 * HTLHASH_SIZE + 1 };

/* The hash as text; false, and "", if the file has none. */
bool source_htlhash(const struct source *source, char ret[static HTLHASH_TEXT_SIZE]);

/* Whether @id, as in a request, may be such an id. */
bool id_may_be_other(const char *id);

/* The one living image with a file of this id; NULL when there is none or more than one. */
struct image *images_find_other(struct images *images, const char *id) REQUIRES(&images->lock);

/* The image gets a source, or is about to lose one. */
void images_note_source(struct images *images, struct image *image, const struct source *source)
	REQUIRES(&images->lock);
void images_drop_source(struct images *images, const struct image *image, const struct source *source)
	REQUIRES(&images->lock);

/* Forgets the table. */
void images_free_other(struct images *images) REQUIRES(&images->lock);

#endif
