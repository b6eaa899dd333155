/* fragment_take.h - the fragment that a worker has written, as an open image. */
#ifndef WORK_RUN_FRAGMENT_TAKE_H
#define WORK_RUN_FRAGMENT_TAKE_H

#include "work/cache/handle.h"
#include "work/worker/worker.h"

enum { FRAGMENT_SIZE_MAX = 64 << 20 };

/*
 * A file in memory for a worker to write, which cannot grow beyond FRAGMENT_SIZE_MAX: no other limit of the
 * worker counts it. A descriptor or a negative errno.
 */
int fragment_file_new(void);

/*
 * Opens a copy: the worker could change its own while it is read.
 *
 * @from: what the worker has written, and
 * @m:    what it says of that
 * @key:  of the entry that the whole is going to be
 * @ret:  with a reference for the caller
 *
 * 0; -EPROTO if the fragment is not what the message says, or no GSYM of this image; -EFBIG if it is too
 * large to be copied; or a negative errno of this machine.
 */
int fragment_take(int from, const struct worker_fragment *m, const char *key, struct handle **ret);

#endif
