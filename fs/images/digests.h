/*
 * digests.h - digests of the contents of files, by the state of the file: see store/client/file_digest.h.
 *
 * The index (fs/scan/index.h) keeps them across mounts, digest_lane.h makes them, and conversions are named
 * after them in a store that several hosts share. By any thread.
 */
#ifndef FS_IMAGES_DIGESTS_H
#define FS_IMAGES_DIGESTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "work/cache/file_state.h"
#include "work/os/mutex.h"
#include "store/client/store_key.h"
#include "gsym/base/hash_table.h"

struct digests {
	struct mutex lock;
	struct table files GUARDED_BY(&lock);
	size_t unsaved GUARDED_BY(&lock); /* since digests_saved() */
	/* Of images' files, how many have no digest yet; DIGESTS_UNCOUNTED: not known, or none are made. */
	atomic_size_t pending;
};

#define DIGESTS_UNCOUNTED SIZE_MAX

void digests_init(struct digests *digests);
void digests_deinit(struct digests *digests);

/* The digest of the file in the state @key; false if it is not known. */
bool digests_find(struct digests *digests, const struct file_key *key, uint8_t ret[static STORE_DIGEST])
	EXCLUDES(&digests->lock);

/*
 * Keeps it, in place of what was known of the file in another state. @saved: the index has it. 0; -EINVAL for
 * a state that no file can have; or -ENOMEM.
 */
int digests_set(struct digests *digests, const struct file_key *key,
		const uint8_t digest[static STORE_DIGEST], bool saved) EXCLUDES(&digests->lock);

/* Likewise, that there is none, and none is to be made before @again, of monotonic_ms(). 0 or -ENOMEM. */
int digests_fail(struct digests *digests, const struct file_key *key, int64_t again) EXCLUDES(&digests->lock);

/*
 * When one is to be made, of monotonic_ms(): INT64_MAX if it is known, 0 if nothing is. The file stays when
 * digests_sweep() is called next.
 */
int64_t digests_due(struct digests *digests, const struct file_key *key) EXCLUDES(&digests->lock);

/* Drops all files that digests_due() was not asked for since the last time. */
void digests_sweep(struct digests *digests) EXCLUDES(&digests->lock);

/* Drops what is known of the file, in whatever state. */
void digests_forget(struct digests *digests, uint64_t dev, uint64_t ino) EXCLUDES(&digests->lock);

/* How many there are that the index does not have. */
size_t digests_unsaved(struct digests *digests) EXCLUDES(&digests->lock);
/*
 * Whether the index is to be written for them: not after each walk while there are more to come, but when
 * they are a good part of all.
 */
bool digests_worth_saving(struct digests *digests) EXCLUDES(&digests->lock);
/* The index has @n of them now. */
void digests_saved(struct digests *digests, size_t n) EXCLUDES(&digests->lock);

#endif
