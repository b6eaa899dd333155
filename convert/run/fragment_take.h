/* fragment_take.h - the fragment that a worker has written, as an open image. */
#ifndef CONVERT_RUN_FRAGMENT_TAKE_H
#define CONVERT_RUN_FRAGMENT_TAKE_H

#include "convert/run/convert_job.h"

enum { FRAGMENT_SIZE_MAX = 64 << 20 };

/*
 * Opens a copy of the fragment: the worker could change its own while it is read. 0, with a reference for the
 * caller; -EPROTO if the fragment is not what the message says, or no GSYM of this image; -EFBIG if it is too
 * large to be copied; or a negative errno of this machine.
 */
int fragment_take(const struct convert_job *job, const struct worker_fragment *m, struct handle **ret);

#endif
