/* image_address.h - the link-time address of what a log says of an image's code. */
#ifndef LOG_ENGINE_IMAGE_ADDRESS_H
#define LOG_ENGINE_IMAGE_ADDRESS_H

#include "log/line/log_format.h"

/* Sets the link-time address of @frame, which is no name: false if it has none. */
bool image_address_of(const struct filter_images *images, const struct filter_image *image,
		      const struct log_frame *frame, uint64_t *ret);

/* Whether addresses of @space need the segments of an image. */
bool image_address_needs_segments(enum frame_space space);

#endif
