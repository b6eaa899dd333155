/*
 * revision.h - which source stands for an image, and what has become of it.
 *
 * All functions but revision_use(), revision_complain() and revision_lose() need images.lock.
 */
#ifndef FS_IMAGES_REVISION_H
#define FS_IMAGES_REVISION_H

#include "convert/run/converter.h"
#include "fs/call/call.h"
#include "fs/images/images.h"

/* Names of the states, as they are shown. */
extern const char *const state_words[STATES];

/*
 * Makes the best of the image's sources its revision. One that is in use and differs is replaced, not
 * changed, and the kernel is told. 0 or -ENOMEM.
 */
int revision_choose(struct images *images, struct image *image);

/* What the revision was made of has changed beside its files: another one of the same files takes its place.
 */
int revision_renew(struct images *images, struct revision *rev);

/*
 * What to convert for the revision; its progress and its worker are noted in it. Everything in @ret is
 * borrowed from the revision.
 */
void revision_request(struct revision *rev, struct convert_request *ret);

/* NULL is allowed. */
void revision_free(struct revision *rev);

/*
 * A reference to the open image: 0; -ESTALE when the revision was replaced; its errno when it failed; -EAGAIN
 * when
 * @ret_wait must be waited for: its conversion, or the end of the first scan, as long as that may still find
 * debug data for it. Takes the lock itself.
 */
int revision_use(struct images *images, struct revision *rev, struct handle **ret, struct wait *ret_wait);

/*
 * The open image turned out to be unreadable. Notes why. True when it is time to say so in the log, which is
 * once a minute. Takes the lock itself.
 */
bool revision_complain(struct images *images, struct revision *rev, const char *reason);

/*
 * The same of @handle, of which the file in the cache was cut short: unless another is in use already, the
 * file goes, so that it is made again at the next use.
 */
bool revision_lose(struct images *images, struct cache *cache, struct revision *rev,
		   const struct handle *handle, const char *reason);

/*
 * Puts @handle (which it takes over) in place. Gives back a handle for the caller to put without the lock, or
 * NULL.
 */
struct handle *revision_set_ready(struct images *images, struct revision *rev, struct handle *handle);

/* Closes the image; the next use opens it again. Gives back the handle likewise. */
struct handle *revision_set_cold(struct images *images, struct revision *rev);

/* What a failed one was made of, see inputs.h, taken over; NULL: nothing, or not kept. */
void revision_set_inputs(struct images *images, struct revision *rev, char *inputs);

/* Remembers the words of a failure, and with @errno_or_0 the failure itself. */
void revision_set_failed(struct revision *rev, int errno_or_0, const char *reason);

#endif
