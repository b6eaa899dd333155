/*
 * requester.h - the user who opened a file that answers for all images.
 *
 * Each image is used only if the user may read the source it was made of, with the rights at the time of
 * open.
 *
 * An image that is evicted from the cache is closed. If the lines of a q alternate among more images than the
 * cache holds, most of them would need a conversion; so the handles used last stay open as long as there are
 * lines. Handles are closed, least recently used first, when there are more than HELD_HANDLES, or when their
 * files together are larger than the user's account permits: their space on the disk is not free while they
 * are open.
 */
#ifndef FS_ANSWER_REQUESTER_H
#define FS_ANSWER_REQUESTER_H

#include "gsym/base/bytes.h"
#include "fs/answer/answers.h"
#include "fs/images/caller.h"
#include "work/cache/handle.h"

struct call;

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

struct requester {
	struct answers *answers;
	struct caller caller; /* owned */
	struct held_handles held;
	/* The id that was named last, and its image: consecutive lines mostly name the same. Valid within one
	 * attempt of a call. */
	char id[NAME_BYTES_MAX + 1];
	struct image *named;
	bool failed_here; /* the last requester_open_image() did, for a fault of the machine */
};

/* Frees what it owns. */
void requester_deinit(struct requester *requester);

/* Begins an attempt of a call: forgets the image that was named last. */
void requester_begin(struct requester *requester);

/*
 * The image of @id, in any spelling, or NULL; -EAGAIN with call->wait filled while a scan or servers may
 * still find it.
 */
int requester_find_image(struct requester *requester, struct span id, struct call *call, struct image **ret);

/*
 * The only image with a file of that name that the requester may know of, or of several the one with that
 * path in by-path. -ENOENT; -ENOTUNIQ when there are several; -EAGAIN with call->wait filled while a scan may
 * still find more.
 */
int requester_find_name(struct requester *requester, const char *name, struct call *call, struct image **ret);

/*
 * Opens the current revision of an image, if the requester may read it. Its file is held for the next use: it
 * counts as open although it was evicted meanwhile. Sets @failed_here.
 * @call: that needs it; its wait is filled with -EAGAIN
 * @ret_rev, @ret: the revision, and its open cache file with a reference
 * -EACCES; -ESTALE when no source is left; -EAGAIN; the errno of a failed conversion.
 */
int requester_open_image(struct requester *requester, struct image *image, struct call *call,
			 struct revision **ret_rev, struct handle **ret);

/*
 * Starts the conversion of an image that will be used soon and is not held, if the requester may read it.
 * @whole: for more than a few addresses.
 */
void requester_prefetch(struct requester *requester, struct image *image, bool whole)
	REQUIRES(&requester->answers->images->lock);

#endif
