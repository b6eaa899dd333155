/* link.h - what symbolic links lead to. */
#ifndef FS_IMAGES_LINK_H
#define FS_IMAGES_LINK_H

#include "fs/images/images.h"

enum {
	LINK_TEXT_SIZE = 3 * (PATH_DEPTH_MAX + 2) + ID_TEXT_SIZE,
};

/*
 * With images.lock: the text of the link @ino, which is of the number's kind for ever. Its length; -EINVAL
 * when the number is that of no link, -ESTALE when it was never given out.
 */
int link_text(const struct images *images, uint64_t ino, char ret[static LINK_TEXT_SIZE])
	REQUIRES(&images->lock);

#endif
