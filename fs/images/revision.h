/*
 * revision.h - choosing the files that represent an image, and the state of its conversion.
 */
#ifndef FS_IMAGES_REVISION_H
#define FS_IMAGES_REVISION_H

#include "work/os/monotonic.h"
#include "work/run/converter.h"
#include "fs/call/call.h"
#include "fs/images/images.h"

struct caller;

/* For how long the kernel keeps the entry of an image's directory without asking again. */
enum { IMAGE_ENTRY_MS = 100 };

/* Names of the states, as they are shown. */
extern const char *const state_words[STATES];

/* Selects the best sources of the image. If they are others than before, its revision is replaced. */
void revision_choose(struct images *images, struct image *image) REQUIRES(&images->lock);

/* The file that stands for the image, whose attributes its directory has; NULL if none is left. */
const struct source *image_source(const struct image *image);

/* The file with the code that completes it; NULL: there is none, or none is needed. */
const struct source *image_binary(const struct image *image);

/* Which file, in which state. */
struct file_key source_key(const struct source *source);

/* The key of its conversion in the cache, if the image is there. */
void image_cache_key(const struct images *images, const struct image *image, struct cache_key *ret)
	REQUIRES(&images->lock);

/* The image's revision, which is made if there is none; NULL if no source is left, or without memory. */
struct revision *image_revision(struct images *images, struct image *image) REQUIRES(&images->lock);

/*
 * The image whose directory has the inode number @ino, or to which what has it belongs; NULL if it is no such
 * number, or of another version of the image than the present one.
 */
struct image *images_at(const struct images *images, uint64_t ino) REQUIRES(&images->lock);

/*
 * Returns the revision that has the inode number @ino: of the directory of an image, which makes it when it
 * is looked into, or of what is below. NULL if there is no such number, it was freed, or is the stale one of
 * a directory.
 * To be used from inside images->readers, or pinned there.
 */
struct revision *images_revision(struct images *images, uint64_t ino) EXCLUDES(&images->lock);

/* Returns images_revision(), but NULL for each stale one. */
struct revision *images_current(struct images *images, uint64_t ino) EXCLUDES(&images->lock);

/*
 * Returns the revision of the only image that @caller may know of in the directory @ino of by-name; NULL if
 * there is none, or several. @listed: only if a listing of the directory may tell @caller of it.
 */
struct revision *images_only_revision(struct images *images, uint64_t ino, const struct caller *caller,
				      bool listed) EXCLUDES(&images->lock);

/* Returns the state of the image's revision; one that is not made yet is cold. */
enum revision_state image_state(const struct image *image);

/* A neighbour of the revision's files has changed: another one of the same files takes its place. */
void revision_renew(struct images *images, struct revision *rev) REQUIRES(&images->lock);

/*
 * Fills @ret with what to convert for the revision, and with callbacks that record progress and worker in it.
 * Everything in @ret is borrowed from the revision. What it was told of is not there: another thread may be
 * settling a conversion while this one asks for fragments.
 */
void revision_request(struct revision *rev, struct convert_request *ret);

/* NULL is allowed. */
void revision_free(struct revision *rev);

/* Keeps a revision, until revision_unpin(), beyond the time inside images.readers. NULL is allowed. */
void revision_pin(struct revision *rev);
void revision_unpin(struct revision *rev);

static inline bool revision_is_stale(const struct revision *rev)
{
	return atomic_load_explicit(&rev->stale, memory_order_relaxed);
}

/*
 * Whether the revision was replaced so long ago that paths lead to the present one, and only processes that
 * stay in its directory open its files. Before, opening them is no error: for ESTALE the kernel walks a path
 * again only once, and the next version may come meanwhile. What is open stays as it was.
 */
static inline bool revision_is_expired(const struct revision *rev)
{
	int64_t since = atomic_load_explicit(&rev->stale_since, memory_order_relaxed);
	return since && monotonic_ms() - since > 2 * IMAGE_ENTRY_MS;
}

static inline bool revision_is_pinned(const struct revision *rev)
{
	return (uint32_t)atomic_load(&rev->pins) != 0;
}

/*
 * Takes a reference to the open image. 0; -ESTALE if the revision was replaced; the errno of its failure,
 * with @ret_wait->failed_here set; or -EAGAIN with @ret_wait set: it is not converted yet, or the first scan
 * may still find debug data for it.
 */
int revision_use(struct images *images, struct revision *rev, struct handle **ret, struct wait *ret_wait)
	EXCLUDES(&images->lock);

/*
 * Records why reading the open image failed. True if the caller should log it: at most once a minute per
 * image.
 */
bool revision_complain(struct images *images, struct revision *rev, const char *reason)
	EXCLUDES(&images->lock);

/*
 * Likewise, of one whose cache file was truncated. Unless it was replaced already, closes it and removes the
 * file, so that the next use converts again.
 * @rev, @handle: the revision, and its open cache file
 * @reason: for its status
 */
bool revision_lose(struct images *images, struct cache *cache, struct revision *rev,
		   const struct handle *handle, const char *reason) EXCLUDES(&images->lock);

/*
 * Takes over @handle and enters STATE_READY. Returns a handle that the caller must put after releasing the
 * lock: an evicted one, or @handle itself if the revision is stale; or NULL.
 */
struct handle *revision_set_ready(struct images *images, struct revision *rev, struct handle *handle)
	REQUIRES(&images->lock);

/* Closes the image; the next use reopens it. Returns the handle likewise. */
struct handle *revision_set_cold(struct images *images, struct revision *rev) REQUIRES(&images->lock);

/*
 * Takes over @inputs (see inputs.h) of a failed conversion; NULL for none. Dropped beyond a limit of memory.
 */
void revision_set_inputs(struct images *images, struct revision *rev, char *inputs) REQUIRES(&images->lock);

/* Records @reason for status; STATE_FAILED with @errno_or_0, a negative errno, else STATE_COLD: to be
 * retried. */
void revision_set_failed(struct images *images, struct revision *rev, int errno_or_0, const char *reason)
	REQUIRES(&images->lock);

/* Changes the state, in debug builds only along an edge of docs/revision-states.svg. */
void revision_set_state(struct images *images, struct revision *rev, enum revision_state state)
	REQUIRES(&images->lock);

#endif
