/* why_id.h - why no image has an id. */
#ifndef FS_IMAGES_WHY_ID_H
#define FS_IMAGES_WHY_ID_H

#include "fs/images/images.h"

struct content;

/*
 * Makes the line of what @request->id is here: that of an image, the beginning of several, not scanned yet,
 * or of none, with the id that is most like it. @is_id: it has the form of one. Waits for nothing; NULL
 * without memory.
 */
struct content *why_id_make(struct images *images, const struct request *request, bool is_id)
	EXCLUDES(&images->lock);

#endif
