/*
 * held_handles.h - the cache files that an open q or log keeps open from one line to the next.
 *
 * An image that is evicted from the cache is closed. If the lines of a q alternate among more images than the
 * cache holds, most of them would need a conversion; so the handles used last stay open as long as there are
 * lines. Handles are closed, least recently used first, when there are more than HELD_HANDLES, or when their
 * files together are larger than the user's account permits: their space on the disk is not free while they
 * are open.
 */
#ifndef FS_ANSWER_HELD_HANDLES_H
#define FS_ANSWER_HELD_HANDLES_H

#include "work/cache/handle.h"
#include "fs/answer/account.h"
#include "fs/images/images.h"

enum { HELD_HANDLES = 64 };

struct held_handle {
	uint32_t revision; /* its number */
	struct handle *handle;
};

/* Zero-initialized but for @account: empty. One thread at a time. */
struct held_handles {
	struct account *account; /* borrowed */
	size_t n;
	struct held_handle v[HELD_HANDLES]; /* most recently used first */
	size_t charged;                     /* bytes of the files */
};

/*
 * Holds @handle of @rev, instead of another of the same revision, and takes a reference. The most recently
 * used handle is held whatever its size.
 */
void held_handles_add(struct held_handles *held, const struct revision *rev, struct handle *handle);

/* The handle of @rev, borrowed, which becomes the most recently used; or NULL. */
struct handle *held_handles_find(struct held_handles *held, const struct revision *rev);

/* Closes @handle, if it is held. */
void held_handles_drop(struct held_handles *held, const struct handle *handle);

/* Closes all. */
void held_handles_clear(struct held_handles *held);

#endif
